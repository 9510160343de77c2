#!/usr/bin/env python3
"""Writes the small part of ONNX's conformance tests that `cargo test` runs, and some broken models.

Needs the Python packages `onnx` and `onnxruntime`; the files it writes are committed.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
loader = importlib.machinery.SourceFileLoader("runner", str(HERE / "run"))
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)

CHOSEN = """
test_add_bcast test_relu test_sigmoid_example test_gelu_default_1 test_where_example test_clip_example
test_reduce_mean_keepdims_example test_reduce_log_sum_exp_keepdims_example test_argmax_keepdims_example
test_cumsum_1d test_softmax_axis_1 test_logsoftmax_axis_1 test_matmul_3d test_gemm_default_vector_bias
test_einsum_batch_matmul test_conv_with_strides_padding test_convtranspose_dilations
test_maxpool_2d_precomputed_pads test_averagepool_2d_precomputed_pads_count_include_pad
test_batchnorm_epsilon test_layer_normalization_2d_axis1 test_instancenorm_example
test_gather_0 test_scatter_elements_with_axis test_top_k test_nonzero_example
test_reshape_negative_dim test_transpose_default test_concat_2d_axis_0 test_split_equal_parts_1d_opset18
test_slice test_constant_pad test_tile test_resize_upsample_scales_linear
test_lstm_defaults test_gru_defaults test_quantizelinear test_dequantizelinear
test_cast_FLOAT_to_FLOAT8E4M3FN test_attention_4d_causal test_nllloss_NC test_if test_scan_sum
test_onehot_with_axis test_depthtospace_example test_qlinearmatmul_2D_uint8_float32
test_deform_conv_with_multiple_offset_groups test_melweightmatrix
""".split()


def data(array):
    if array.ndim == 0:
        value = array.item()
        if isinstance(value, float) and not np.isfinite(value):
            return str(value)
        return value
    return [data(it) for it in array]


def write_case(case, cases):
    inputs, outputs = case.data_sets[0]
    arrays = {}
    for port, array in zip(case.model.graph.input, inputs):
        arrays[port.name] = numpy_helper.to_array(array) if isinstance(array, TensorProto) else array
    decides = len(arrays) > 1 and case.name in (
        "test_reshape_negative_dim", "test_slice", "test_constant_pad", "test_tile", "test_top_k",
        "test_cumsum_1d", "test_reduce_mean_keepdims_example", "test_reduce_log_sum_exp_keepdims_example",
        "test_onehot_with_axis", "test_resize_upsample_scales_linear",
    )
    fixed = [name for at, (name, a) in enumerate(arrays.items()) if at > 0 and decides and a.size <= 16 and a.ndim <= 1]
    if case.name == "test_melweightmatrix":
        fixed = list(arrays)
    (CASES / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
    runner.write_safetensors(CASES / f"{case.name}.safetensors", arrays)
    expected = []
    for array in outputs:
        array = numpy_helper.to_array(array) if isinstance(array, TensorProto) else np.asarray(array)
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float32)
        expected.append({"shape": list(array.shape), "data": data(array)})
    cases.append({"name": case.name, "constants": fixed, "outputs": expected})


def own(cases):
    """Models of our own."""
    import loops
    for name, model, feeds, outputs in loops.cases():
        (CASES / f"{name}.onnx").write_bytes(model.SerializeToString())
        runner.write_safetensors(CASES / f"{name}.safetensors", feeds)
        expected = [{"shape": list(it.shape), "data": data(it)} for it in outputs]
        cases.append({"name": name, "constants": [], "outputs": expected})


def broken():
    """Models that must be refused."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 2, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)

    def save(name, nodes, outputs, initializers=()):
        graph = helper.make_graph(nodes, name, [x], outputs, initializer=list(initializers))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        (CASES / f"{name}.onnx").write_bytes(model.SerializeToString())

    save("refused", [
        helper.make_node("Frobnicate", ["x"], ["y"], name="unknown"),
        helper.make_node("DepthToSpace", ["x"], ["z"], name="nothing", blocksize=0),
    ], [y, z])
    save("cycle", [
        helper.make_node("Add", ["x", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ], [y])
    huge = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 20, 1 << 20], raw_data=b"1234")
    save("huge", [helper.make_node("Add", ["x", "w"], ["y"])], [y], [huge])
    outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="../../../etc/hostname")
    save("outside", [helper.make_node("Add", ["x", "w"], ["y"])], [y], [outside])
    one, two = (numpy_helper.from_array(np.ones(n, np.float32), "w") for n in (1, 2))
    save("twice", [helper.make_node("Add", ["x", "w"], ["y"])], [y], [one, two])
    whole = numpy_helper.from_array(np.ones(2, np.int8), "w")
    save("mixed", [helper.make_node("Add", ["x", "w"], ["y"])], [y], [whole])
    far = numpy_helper.from_array(np.array([1 << 40, 1, 1, 1]), "s")
    save("far", [helper.make_node("Tile", ["x", "s"], ["y"])], [y], [far])
    save("wide", [helper.make_node("Sum", ["x"] * 3000, ["y"])], [y])


def main():
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases
    CASES.mkdir(exist_ok=True)
    for old in CASES.iterdir():
        old.unlink()
    cases = []
    found = set()
    for case in collect_testcases(None):
        if case.name in CHOSEN:
            found.add(case.name)
            size = sum(np.asarray(numpy_helper.to_array(it) if isinstance(it, TensorProto) else it).size
                       for part in case.data_sets[0] for it in part)
            if size > 1500:
                print("too large:", case.name, size)
                continue
            write_case(case, cases)
    for name in CHOSEN:
        if name not in found:
            print("there is no test", name)
    own(cases)
    (CASES / "cases.json").write_text("[\n" + ",\n".join(json.dumps(it) for it in cases) + "\n]\n")
    broken()
    print(len(cases), "tests,", sum(it.stat().st_size for it in CASES.iterdir()), "bytes")


if __name__ == "__main__":
    main()
