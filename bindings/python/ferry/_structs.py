# SPDX-License-Identifier: Apache-2.0
"""The public C headers (sdk/include/ferry) as ctypes: structs field by field, enumerations, and every function's types.

`tests/layout_test.py` compiles the headers and compares; what is added there is added here.
"""
import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint8, c_uint16, c_uint32
from ctypes import c_uint64, c_void_p

VERSION = (0, 3)  # FERRY_VERSION_MAJOR and _MINOR: within one minor version structs only grow at their ends
MAX_RANK = 6

# ---- ferry.h ---------------------------------------------------------------------------------------------------------


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("bytes", c_size_t), ("dtype", c_int),
                ("source_layout", c_int), ("rank", c_int32), ("shape", c_int32 * MAX_RANK)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("num_threads", c_int32), ("threadpool", c_void_p),
                ("taps", POINTER(c_char_p)), ("tap_count", c_size_t), ("all_taps", c_bool), ("profile", c_bool),
                ("memory_limit", c_uint64), ("backend", c_int32), ("precision", c_int32), ("gpu_required", c_bool),
                ("gpu_retry", c_bool), ("gpu_tune", c_bool), ("gpu_device", c_char_p), ("gpu", c_void_p),
                ("gpu_cache_dir", c_char_p), ("cache_dir", c_char_p), ("graph", c_char_p), ("states", c_void_p),
                ("cores", c_int32), ("cpu_mask", POINTER(c_uint64)), ("cpu_mask_words", c_size_t),
                ("skip_weight_check", c_bool), ("gpu_watch", c_double), ("state_dtype", c_int32)]


class ProfileEntry(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("op", c_char_p), ("backend", c_char_p), ("microseconds", c_double),
                ("rank", c_int32), ("shape", c_int32 * MAX_RANK)]


class Report(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("backend", c_int), ("gpu_status", c_int), ("message", c_char_p),
                ("device", c_char_p), ("driver", c_char_p), ("precision", c_int), ("gpu_operators", c_size_t),
                ("cpu_operators", c_size_t), ("transfers", c_size_t), ("canary_count", c_size_t),
                ("canary_failures", c_size_t), ("canary_ms", c_double), ("note_count", c_size_t), ("cpus", c_char_p),
                ("threads", c_size_t), ("watched_runs", c_size_t)]


class Verification(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("passed", c_bool), ("stage_count", c_size_t), ("stage", c_char_p),
                ("error", c_double), ("bound", c_double), ("error_at_conversion", c_double), ("fixture", c_char_p),
                ("library", c_char_p), ("graph", c_char_p)]


class KernelCheck(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kernels", c_size_t), ("checked", c_size_t), ("failures", c_size_t),
                ("replays", c_uint64)]


AUDIT_PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_double)


class AuditOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("seconds", c_double), ("root", c_char_p), ("progress", AUDIT_PROGRESS),
                ("user", c_void_p)]


class AuditedOperator(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("op", c_char_p), ("shape", c_char_p), ("kernel", c_char_p), ("runs", c_uint64),
                ("differed", c_uint64), ("compared", c_bool), ("error", c_double), ("problem", c_char_p)]


class AuditedSensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("unit", c_char_p), ("first", c_double), ("lowest", c_double),
                ("highest", c_double), ("last", c_double)]


class AuditSummary(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("passed", c_bool), ("seconds", c_double), ("runs", c_uint64),
                ("device", c_char_p), ("driver", c_char_p), ("lost", c_char_p)]


# ---- image.h ---------------------------------------------------------------------------------------------------------


class Image(ctypes.Structure):
    _fields_ = [("pixels", c_void_p), ("width", c_int32), ("height", c_int32), ("stride", c_int32), ("owned", c_bool)]


class Class(ctypes.Structure):
    _fields_ = [("index", c_int32), ("probability", c_float), ("label", c_char_p)]


# ---- task.h ----------------------------------------------------------------------------------------------------------


class TaskInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("answer", c_int), ("prompts", c_uint32),
                ("name", c_char_p)]


class Point(ctypes.Structure):
    _fields_ = [("x", c_float), ("y", c_float), ("outside", c_bool)]


class Box(ctypes.Structure):
    _fields_ = [("left", c_float), ("top", c_float), ("right", c_float), ("bottom", c_float)]


PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_int32)


class Request(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("image", POINTER(Image)), ("top", c_int32), ("tile", c_int32),
                ("progress", PROGRESS), ("user", c_void_p), ("mask", POINTER(Image)), ("points", POINTER(Point)),
                ("point_count", c_size_t), ("box", POINTER(Box)), ("mask_index", c_int32), ("refine", c_bool),
                ("frame", c_void_p)]


class Detection(ctypes.Structure):
    _fields_ = [("box", Box), ("score", c_float), ("index", c_int32), ("label", c_char_p),
                ("landmarks", POINTER(c_float)), ("landmark_count", c_size_t)]


class Line(ctypes.Structure):
    _fields_ = [("corners", c_float * 8), ("score", c_float), ("text", c_char_p)]


class Answer(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("classes", POINTER(Class)), ("class_count", c_size_t),
                ("vector", POINTER(c_float)), ("vector_size", c_size_t), ("width", c_int32), ("height", c_int32),
                ("minimum", c_float), ("maximum", c_float), ("sense", c_int),
                ("labels", POINTER(c_uint16)), ("mask", POINTER(c_uint8)), ("quality", c_float), ("image", Image),
                ("boxes", POINTER(Detection)), ("box_count", c_size_t), ("lines", POINTER(Line)),
                ("line_count", c_size_t), ("map", POINTER(c_float)), ("landmark_scores", POINTER(c_float)),
                ("landmark_names", POINTER(c_char_p)),
                ("landmark_name_count", c_size_t), ("landmark_lines", POINTER(c_uint16)),
                ("landmark_line_count", c_size_t)]


# ---- text.h ----------------------------------------------------------------------------------------------------------


class Message(ctypes.Structure):
    _fields_ = [("role", c_char_p), ("content", c_char_p)]


class Sampling(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("temperature", c_float), ("top_k", c_int32), ("top_p", c_float),
                ("min_p", c_float), ("repetition_penalty", c_float), ("seed", c_uint64),
                ("bias_tokens", POINTER(c_int32)), ("bias_values", POINTER(c_float)), ("bias_count", c_size_t),
                ("stop", POINTER(c_char_p)), ("stop_count", c_size_t)]


# The C name of each struct.
STRUCTS = {"ferry_tensor": Tensor, "ferry_session_options": SessionOptions, "ferry_profile_entry": ProfileEntry,
           "ferry_report": Report, "ferry_verification": Verification,
           "ferry_kernel_check": KernelCheck, "ferry_audit_options": AuditOptions,
           "ferry_audited_operator": AuditedOperator, "ferry_audited_sensor": AuditedSensor,
           "ferry_audit_summary": AuditSummary, "ferry_image": Image, "ferry_class": Class,
           "ferry_task_info": TaskInfo, "ferry_point": Point, "ferry_box": Box, "ferry_request": Request,
           "ferry_detection": Detection, "ferry_line": Line, "ferry_answer": Answer, "ferry_message": Message,
           "ferry_sampling": Sampling}

# ---- enumerations, by their C names without prefix ------------------------------------------------------------------

STATUS = {"OK": 0, "INVALID_ARGUMENT": 100, "NOT_FOUND": 101, "SHAPE_MISMATCH": 102, "IO_ERROR": 200,
          "NOT_A_BLOB": 201, "UNSUPPORTED_VERSION": 202, "CORRUPT": 203, "UNSUPPORTED": 204, "OUT_OF_MEMORY": 300,
          "MEMORY_LIMIT": 301, "STATE_FULL": 302, "CANCELLED": 400, "BACKEND_ERROR": 401, "GPU_UNAVAILABLE": 402,
          "GPU_LOST": 403, "GPU_WRONG": 404, "NOT_AN_IMAGE": 500, "IMAGE_DAMAGED": 501, "IMAGE_TOO_LARGE": 502}
DTYPE = {"FLOAT32": 0, "FLOAT16": 1, "INT8": 3, "UINT8": 4, "INT32": 5, "INT64": 6}
LAYOUT = {"SAME": 0, "NCHW": 1}
BACKEND = {"CPU": 0, "GPU": 1}
PRECISION = {"FLOAT32": 0, "FLOAT16": 1}
CORES = {"PERFORMANCE": 0, "BALANCED": 1, "EFFICIENT": 2, "ALL": 3}
ANSWER = {"NONE": 0, "CLASSES": 1, "VECTOR": 2, "MAP": 3, "LABELS": 4, "MASK": 5, "IMAGE": 6, "BOXES": 7, "LINES": 8}
SENSE = {"NEARNESS": 0, "METRES": 1}
SAVE = {"PLAIN": 0, "COLOURS": 1, "16_BIT": 2}
PROMPT = {"MASK": 1, "POINTS": 2, "TILE": 4}

# Prefixes of the names above in the headers.
ENUMERATIONS = {"FERRY_": (STATUS, DTYPE), "FERRY_LAYOUT_": (LAYOUT,), "FERRY_BACKEND_": (BACKEND,),
                "FERRY_PRECISION_": (PRECISION,), "FERRY_CORES_": (CORES,),
                "FERRY_ANSWER_": (ANSWER,), "FERRY_SENSE_": (SENSE,), "FERRY_SAVE_": (SAVE,),
                "FERRY_PROMPT_": (PROMPT,)}

# ---- functions -------------------------------------------------------------------------------------------------------

_HANDLE, _OUT = c_void_p, POINTER(c_void_p)
_TENSOR, _COUNT = POINTER(Tensor), POINTER(c_size_t)

# Name, result and arguments. Functions with the result STATUS_CODE raise ferry.Error unless they return FERRY_OK.
STATUS_CODE = "ferry_status"  # not a ctypes type: c_int equals c_int32, which other functions return
FERRY_FUNCTIONS = [
    ("ferry_version", c_char_p),
    ("ferry_last_error", c_char_p),
    ("ferry_model_open", STATUS_CODE, c_char_p, _OUT),
    ("ferry_model_check", STATUS_CODE, _HANDLE),
    ("ferry_model_finish_check", STATUS_CODE, _HANDLE),
    ("ferry_model_close", None, _HANDLE),
    ("ferry_model_graph_count", c_size_t, _HANDLE),
    ("ferry_model_graph_name", c_char_p, _HANDLE, c_size_t),
    ("ferry_model_open_graph", STATUS_CODE, _HANDLE, c_char_p, _OUT),
    ("ferry_model_name", c_char_p, _HANDLE),
    ("ferry_model_input_count", c_size_t, _HANDLE),
    ("ferry_model_output_count", c_size_t, _HANDLE),
    ("ferry_model_tap_count", c_size_t, _HANDLE),
    ("ferry_model_input", STATUS_CODE, _HANDLE, c_size_t, _TENSOR),
    ("ferry_model_output", STATUS_CODE, _HANDLE, c_size_t, _TENSOR),
    ("ferry_model_tap", STATUS_CODE, _HANDLE, c_size_t, _TENSOR),
    ("ferry_model_label_count", c_size_t, _HANDLE),
    ("ferry_model_label", c_char_p, _HANDLE, c_size_t),
    ("ferry_model_task", STATUS_CODE, _HANDLE, POINTER(TaskInfo)),
    ("ferry_model_verify", STATUS_CODE, _HANDLE, POINTER(SessionOptions), POINTER(Verification)),
    ("ferry_session_options_init", None, POINTER(SessionOptions)),
    ("ferry_session_create", STATUS_CODE, _HANDLE, POINTER(SessionOptions), _OUT),
    ("ferry_session_close", None, _HANDLE),
    ("ferry_session_resize_inputs", STATUS_CODE, _HANDLE, _TENSOR, c_size_t),
    ("ferry_session_input", STATUS_CODE, _HANDLE, c_size_t, _TENSOR),
    ("ferry_session_output", STATUS_CODE, _HANDLE, c_size_t, _TENSOR),
    ("ferry_session_tap", STATUS_CODE, _HANDLE, c_char_p, _TENSOR),
    ("ferry_session_run", STATUS_CODE, _HANDLE),
    ("ferry_session_cancel", None, _HANDLE),
    ("ferry_session_arena_bytes", c_uint64, _HANDLE),
    ("ferry_session_packed_bytes", c_uint64, _HANDLE),
    ("ferry_session_profile_count", c_size_t, _HANDLE),
    ("ferry_session_profile", STATUS_CODE, _HANDLE, c_size_t, POINTER(ProfileEntry)),
    ("ferry_session_report", STATUS_CODE, _HANDLE, POINTER(Report)),
    ("ferry_session_report_note", c_char_p, _HANDLE, c_size_t),
    ("ferry_session_check_kernels", STATUS_CODE, _HANDLE, c_double, POINTER(KernelCheck)),
    ("ferry_gpu_audit", STATUS_CODE, _HANDLE, POINTER(SessionOptions), POINTER(AuditOptions), _OUT),
    ("ferry_audit_close", None, _HANDLE),
    ("ferry_audit_result", STATUS_CODE, _HANDLE, POINTER(AuditSummary)),
    ("ferry_audit_operator_count", c_size_t, _HANDLE),
    ("ferry_audit_operator", STATUS_CODE, _HANDLE, c_size_t, POINTER(AuditedOperator)),
    ("ferry_audit_sensor_count", c_size_t, _HANDLE),
    ("ferry_audit_sensor", STATUS_CODE, _HANDLE, c_size_t, POINTER(AuditedSensor)),
    ("ferry_session_set_image", STATUS_CODE, _HANDLE, POINTER(Image)),
    ("ferry_session_set_image_at", STATUS_CODE, _HANDLE, c_size_t, POINTER(Image)),
    ("ferry_session_top_classes", STATUS_CODE, _HANDLE, POINTER(Class), _COUNT),
    ("ferry_session_top_classes_at", STATUS_CODE, _HANDLE, c_size_t, POINTER(Class), _COUNT),
    ("ferry_session_embedding", STATUS_CODE, _HANDLE, POINTER(c_float), _COUNT),
    ("ferry_session_embedding_at", STATUS_CODE, _HANDLE, c_size_t, POINTER(c_float), _COUNT),
    ("ferry_session_states", STATUS_CODE, _HANDLE, _OUT),
    ("ferry_states_close", None, _HANDLE),
    ("ferry_states_length", c_int32, _HANDLE),
    ("ferry_states_reset", STATUS_CODE, _HANDLE),
    ("ferry_image_load", STATUS_CODE, c_char_p, POINTER(Image)),
    ("ferry_image_free", None, POINTER(Image)),
    ("ferry_task_open", STATUS_CODE, _HANDLE, POINTER(SessionOptions), _OUT),
    ("ferry_task_close", None, _HANDLE),
    ("ferry_task_run", STATUS_CODE, _HANDLE, POINTER(Request), POINTER(Answer)),
    ("ferry_task_cancel", None, _HANDLE),
    ("ferry_task_session", c_void_p, _HANDLE),
    ("ferry_answer_save", STATUS_CODE, POINTER(Answer), c_char_p, c_int),
    ("ferry_answer_draw", STATUS_CODE, POINTER(Answer), POINTER(Image), POINTER(Image)),
]
TEXT_FUNCTIONS = [
    ("ferry_text_open", STATUS_CODE, _HANDLE, _OUT),
    ("ferry_text_close", None, _HANDLE),
    ("ferry_text_encode", STATUS_CODE, _HANDLE, c_char_p, c_size_t, c_bool, POINTER(c_int32), _COUNT),
    ("ferry_text_decode", STATUS_CODE, _HANDLE, POINTER(c_int32), c_size_t, c_char_p, _COUNT),
    ("ferry_text_render", STATUS_CODE, _HANDLE, c_char_p, c_size_t, c_char_p, _COUNT),
    ("ferry_text_chat", STATUS_CODE, _HANDLE, POINTER(Message), c_size_t, c_char_p, _COUNT),
    ("ferry_sampling_init", None, POINTER(Sampling)),
    ("ferry_generator_create", STATUS_CODE, _HANDLE, POINTER(SessionOptions), _OUT),
    ("ferry_generator_close", None, _HANDLE),
    ("ferry_generator_set_sampling", STATUS_CODE, _HANDLE, POINTER(Sampling)),
    ("ferry_generator_recommended_sampling", STATUS_CODE, _HANDLE, POINTER(Sampling)),
    ("ferry_generator_append", STATUS_CODE, _HANDLE, POINTER(c_int32), c_size_t),
    ("ferry_generator_append_text", STATUS_CODE, _HANDLE, c_char_p, c_size_t),
    ("ferry_generator_append_image", STATUS_CODE, _HANDLE, POINTER(Image)),
    ("ferry_generator_add_image", STATUS_CODE, _HANDLE, POINTER(Image)),
    ("ferry_generator_set", STATUS_CODE, _HANDLE, POINTER(c_int32), c_size_t),
    ("ferry_generator_set_text", STATUS_CODE, _HANDLE, c_char_p, c_size_t),
    ("ferry_generator_next", STATUS_CODE, _HANDLE, POINTER(c_int32)),
    ("ferry_generator_text", c_void_p, _HANDLE, _COUNT),
    ("ferry_generator_log_probability", c_float, _HANDLE),
    ("ferry_generator_ended", c_bool, _HANDLE),
    ("ferry_generator_tokens", POINTER(c_int32), _HANDLE, _COUNT),
    ("ferry_generator_max_length", c_size_t, _HANDLE),
    ("ferry_generator_save", STATUS_CODE, _HANDLE, c_char_p, c_char_p, c_size_t),
    ("ferry_generator_load", STATUS_CODE, _HANDLE, c_char_p),
    ("ferry_generator_note", c_void_p, _HANDLE, _COUNT),
    ("ferry_generator_reset", STATUS_CODE, _HANDLE),
    ("ferry_generator_cancel", None, _HANDLE),
    ("ferry_generator_session", c_void_p, _HANDLE),
]
