-- SPDX-License-Identifier: Apache-2.0
-- How long the steps of each rank take: those that count, which is without the warm-up.
SELECT job, rank,
    count(*) AS steps,
    median(duration_ns) AS median_ns,
    avg(duration_ns) AS mean_ns,
    min(duration_ns) AS min_ns,
    max(duration_ns) AS max_ns
FROM steps
WHERE is_counted
GROUP BY job, rank
ORDER BY job, median_ns DESC, rank;
