# SPDX-License-Identifier: Apache-2.0
"""Names of operations in HLO, as XLA prints it: which it leaves out, and what they have in common."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src/hooks/jax/python"))
import prof_jax  # noqa: E402

HLO = """HloModule jit_f, is_scheduled=true

%region_0.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add.1 = f32[] add(%a, %b), metadata={op_name="reduce_sum" stack_frame_id=3}
}

%fused_computation (p: f32[4,8]) -> f32[4] {
  %p = f32[4,8]{1,0} parameter(0), metadata={op_name="w"}
  %mul.1 = f32[4,8]{1,0} multiply(%p, %p), metadata={op_name="jit(f)/transpose(jvp(a/b))/up/mul" stack_frame_id=1}
  %c = f32[] constant(0)
  ROOT %reduce.1 = f32[4]{0} reduce(%mul.1, %c), dimensions={1}, to_apply=%region_0.1, metadata={op_name="jit(f)/transpose(jvp(a/b))/down/reduce_sum"}
}

%fused_computation.1 (p: f32[4,8]) -> f32[4,8] {
  %p.1 = f32[4,8]{1,0} parameter(0)
  %mul.2 = f32[4,8]{1,0} multiply(%p.1, %p.1), metadata={op_name="jit(f)/jvp(M)/mul"}
  ROOT %add.2 = f32[4,8]{1,0} add(%mul.2, %p.1), metadata={op_name="jit(f)/jvp(M)/add"}
}

ENTRY %main.9 (w: f32[4,8]) -> f32[4] {
  %w = f32[4,8]{1,0} parameter(0), metadata={op_name="w"}
  %loop_add_fusion.1 = f32[4,8]{1,0} fusion(%w), kind=kLoop, calls=%fused_computation.1, metadata={op_name="jit(f)/jvp(M)/add"}
  %copy.1 = f32[4,8]{1,0} copy(%loop_add_fusion.1)
  ROOT %input_reduce_fusion = f32[4]{0} fusion(%copy.1), kind=kInput, calls=%fused_computation
}
"""


class Names(unittest.TestCase):
    def test_those_that_xla_leaves_out(self):
        found = dict(prof_jax.names_left_out(prof_jax.instructions_of(HLO)))
        # The first is inside the second, and no operation of its own.
        self.assertEqual(found, {"reduce.1": "jit(f)/transpose(jvp(a/b))/down/reduce_sum",
                                 "input_reduce_fusion": "jit(f)/transpose(jvp(a/b))"})

    def test_texts_without_percent_signs(self):
        found = dict(prof_jax.names_left_out(prof_jax.instructions_of(HLO.replace("%", ""))))
        self.assertEqual(found["input_reduce_fusion"], "jit(f)/transpose(jvp(a/b))")

    def test_what_is_no_module(self):
        for text in ("", "\n", HLO[:700], HLO.replace("{\n", "\n"), "x {\n x = calls=x\n}\n", HLO.replace("region_0.1", "fused_computation")):
            list(prof_jax.names_left_out(prof_jax.instructions_of(text)))
            list(prof_jax.phases_left_out(prof_jax.instructions_of(text)))

    def test_phases_of_fusions(self):
        def phases(text):
            return dict(prof_jax.phases_left_out(prof_jax.instructions_of(text)))
        self.assertEqual(phases(HLO), {})  # both fusions' common names have a phase
        update = HLO.replace("jit(f)/transpose(jvp(a/b))/up/mul", "jit(f)/optimizer/mul")
        self.assertEqual(phases(update), {"input_reduce_fusion": {"backward", "other"}})
        joined = HLO.replace("jit(f)/jvp(M)/mul", "jit(f)/jvp(M)/mul;jit(f)/sub")  # one operation made of two
        self.assertEqual(phases(joined), {"loop_add_fusion.1": {"forward", "other"}})

    def test_phase_of_a_name(self):
        for name, phase in (("jit(f)/jvp(M)/up/add", "forward"), ("jit(f)/transpose(jvp(M))/add", "backward"),
                            ("jit(f)/transpose(jvp(M))/checkpoint/rematted_computation/add", "recompute"),
                            ("jit(f)/transpose", "other"), ("jit(jvp(x))", "other"), ("w", "other"), ("", "other")):
            self.assertEqual(prof_jax.phase_of(name), phase, name)

    def test_common_beginning(self):
        self.assertEqual(prof_jax.common(["jit(f)/a/b", "jit(f)/a/c"]), "jit(f)/a")
        self.assertEqual(prof_jax.common(["jit(f)/ab", "jit(f)/ac"]), "jit(f)")
        self.assertEqual(prof_jax.common(["jit(f)", "w"]), "")
        self.assertEqual(prof_jax.common([]), "")


if __name__ == "__main__":
    unittest.main()
