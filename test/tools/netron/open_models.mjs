// SPDX-License-Identifier: Apache-2.0
// Opens model files with Netron's own parser, without a browser, and prints what it sees as JSON: one object per file.
//   node open_models.mjs NETRON_FOLDER FILE...
// NETRON_FOLDER holds the scripts of the Python package netron and a package.json with "type": "module".
import fs from 'fs';
import path from 'path';
import url from 'url';

const [folder, ...files] = process.argv.slice(2);
const load = (id) => import(url.pathToFileURL(path.join(folder, id.endsWith('.js') ? id : `${id}.js`)));
const base = await load('base');
const view = await load('view');
globalThis.window ??= globalThis;

function context(file) {
  const open = (name) => new base.BinaryStream(new Uint8Array(fs.readFileSync(name)));
  return {
    identifier: path.basename(file),
    name: path.basename(file),
    stream: open(file),
    entries: new Map(),
    asset: async (name) => fs.readFileSync(path.join(folder, name), 'utf-8'),
    fetch: async (name, encoding) => {
      const sibling = path.join(path.dirname(file), name);
      return encoding ? fs.readFileSync(sibling, encoding) : open(sibling);
    },
    require: load,
    error(error) { throw error; },
  };
}

const names = (port) => port.value.filter((value) => !value.initializer).map((value) => value.name);
const weights = (node) => node.inputs.flatMap((port) => port.value.filter((value) => value.initializer)
  .map((value) => ({ slot: port.name, shape: value.initializer.type.shape.dimensions.map(Number) })));

const models = [];
const host = { environment: () => undefined, ...context(files[0]) };
for (const file of files) {
  const model = await new view.ModelFactoryService(host).open(context(file));
  const graph = model.modules[0];
  models.push({
    file,
    format: model.format,
    inputs: graph.inputs.map((port) => port.value[0].name),
    outputs: graph.outputs.map((port) => port.value[0].name),
    nodes: graph.nodes.map((node) => ({
      name: node.name,
      type: node.type.name,
      inputs: node.inputs.flatMap(names),
      outputs: node.outputs.flatMap(names),
      weights: weights(node),
    })),
  });
}
console.log(JSON.stringify(models));
