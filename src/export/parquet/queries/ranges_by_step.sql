-- SPDX-License-Identifier: Apache-2.0
-- GPU time of each step by range, with the time on the host beside it: of the ranges that began in the step.
SELECT r.job, r.rank, r.step, r.path,
    sum(CASE WHEN r.is_continuation THEN 0 ELSE 1 END) AS instances,
    sum(r.host_ns) AS host_ns,
    sum(r.gpu_sum_ns) AS gpu_sum_ns,
    sum(r.gpu_self_ns) AS gpu_self_ns,
    sum(r.gpu_operations) AS operations
FROM ranges AS r
JOIN steps AS s ON s.job = r.job AND s.capture = r.capture AND s.step = r.step
WHERE s.is_counted AND r.type <> 'start_end'
GROUP BY r.job, r.rank, r.step, r.path
ORDER BY r.job, r.rank, r.step, gpu_sum_ns DESC, r.path;
