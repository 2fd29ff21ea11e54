-- SPDX-License-Identifier: Apache-2.0
-- GPU time by kernel, over all ranks of a job: the figures of `prof report --report kernels`.
SELECT job, name,
    max(class) AS class,
    count(*) AS instances,
    count(DISTINCT rank) AS ranks,
    sum(duration_ns) AS total_ns,
    avg(duration_ns) AS mean_ns,
    median(duration_ns) AS median_ns,
    min(duration_ns) AS min_ns,
    max(duration_ns) AS max_ns
FROM gpu_operations
WHERE kind IN ('kernel', 'graph')
GROUP BY job, name
ORDER BY job, total_ns DESC, name;
