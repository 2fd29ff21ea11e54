-- SPDX-License-Identifier: Apache-2.0
-- GPU time by range and rank: the rows of `prof report --report gpu-projection`. The column gpu_self_ns of a rank adds
-- up to all of its GPU time.
SELECT job, rank, type, path,
    sum(instances) AS instances,
    sum(host_ns) AS host_ns,
    sum(gpu_sum_ns) AS gpu_sum_ns,
    sum(gpu_self_ns) AS gpu_self_ns,
    sum(operations) AS operations,
    sum(adopted_operations) AS adopted_operations,
    sum(communication_ns) AS communication_ns
FROM (
    SELECT job, rank, type, path,
        CASE WHEN is_continuation THEN 0 ELSE 1 END AS instances,
        coalesce(host_ns, 0) AS host_ns,
        gpu_sum_ns,
        gpu_self_ns,
        gpu_operations AS operations,
        adopted_operations,
        communication_ns
    FROM ranges
    WHERE type <> 'start_end'
    UNION ALL
    -- Work in no range, in one that cannot be told, and without a known launch.
    SELECT job, rank,
        CASE path WHEN '(no range)' THEN 'no_range' WHEN '(unmatched)' THEN 'unmatched' ELSE 'ambiguous' END AS type,
        CASE WHEN path IN ('(no range)', '(unmatched)') THEN path ELSE '(ambiguous)' END AS path,
        0 AS instances,
        0 AS host_ns,
        duration_ns AS gpu_sum_ns,
        CASE WHEN path LIKE '(ambiguous)/%' THEN 0 ELSE duration_ns END AS gpu_self_ns,
        1 AS operations,
        CASE WHEN is_adopted THEN 1 ELSE 0 END AS adopted_operations,
        CASE WHEN class = 'communication' THEN duration_ns ELSE 0 END AS communication_ns
    FROM gpu_operations
    WHERE path IN ('(no range)', '(unmatched)', '(ambiguous)') OR path LIKE '(ambiguous)/%'
) AS rows_of_ranges
GROUP BY job, rank, type, path
ORDER BY job, rank, gpu_sum_ns DESC, path, type;
