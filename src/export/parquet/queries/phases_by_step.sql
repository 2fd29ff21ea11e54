-- SPDX-License-Identifier: Apache-2.0
-- GPU time of each step by phase, or by the outermost range where the program has no phases. Over all steps of a rank
-- it is what `prof report` shows of a step, times their number.
SELECT o.job, o.rank, o.step, o.phase, sum(o.duration_ns) AS gpu_sum_ns, count(*) AS operations
FROM gpu_operations AS o
JOIN steps AS s ON s.job = o.job AND s.capture = o.capture AND s.step = o.step
WHERE s.is_counted
GROUP BY o.job, o.rank, o.step, o.phase
ORDER BY o.job, o.rank, o.step, gpu_sum_ns DESC, o.phase;
