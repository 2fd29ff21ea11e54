-- SPDX-License-Identifier: Apache-2.0
-- The part of each rank's step in which its GPU communicates and nothing computes, which is what communication costs;
-- and how much of it is spent on waiting for ranks that arrive later. Means of the steps that all ranks have.
WITH of_steps AS (
    SELECT job, rank,
        count(*) AS steps,
        avg(duration_ns) AS step_ns,
        avg(communication_ns) AS exposed_ns
    FROM steps
    WHERE common_step IS NOT NULL
    GROUP BY job, rank
), waits AS (
    SELECT job, rank, sum(wait_ns) AS wait_ns
    FROM collectives
    WHERE is_counted AND common_step IS NOT NULL
    GROUP BY job, rank
)
SELECT s.job, s.rank, s.step_ns, s.exposed_ns,
    s.exposed_ns / s.step_ns AS exposed_share,
    w.wait_ns * 1.0 / s.steps AS wait_ns
FROM of_steps AS s
LEFT JOIN waits AS w ON w.job = s.job AND w.rank = s.rank
ORDER BY s.job, s.exposed_ns DESC NULLS LAST, s.rank;
