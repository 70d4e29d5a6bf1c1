# SPDX-License-Identifier: Apache-2.0
from .cli import main
import sys
sys.exit(main())
