-- SPDX-License-Identifier: Apache-2.0
-- Ranks by their own work beyond their peers', of a step that all ranks have: the slowest first. A slow rank makes the
-- others wait, so that it waits least itself. These are the columns of `prof report --report ranks`.
WITH of_steps AS (
    SELECT job, rank,
        count(*) AS steps,
        avg(duration_ns) AS step_ns,
        avg(beyond_peers_ns) AS beyond_peers_ns,
        avg(compute_ns) AS compute_ns,
        avg(communication_ns) AS communication_ns,
        avg(copies_ns) AS copies_ns,
        avg(idle_ns) AS idle_ns
    FROM steps
    WHERE common_step IS NOT NULL
    GROUP BY job, rank
), of_collectives AS (
    SELECT job, rank,
        count(*) AS collectives,
        avg(CASE WHEN is_last THEN 1.0 ELSE 0.0 END) AS last_share,
        sum(CASE WHEN common_step IS NOT NULL THEN wait_ns ELSE 0 END) AS wait_ns
    FROM collectives
    WHERE is_counted
    GROUP BY job, rank
)
SELECT s.job, s.rank, s.steps, s.step_ns, s.beyond_peers_ns,
    c.wait_ns * 1.0 / s.steps AS wait_ns,
    c.last_share, s.compute_ns, s.communication_ns, s.copies_ns, s.idle_ns
FROM of_steps AS s
LEFT JOIN of_collectives AS c ON c.job = s.job AND c.rank = s.rank
ORDER BY s.job, s.beyond_peers_ns DESC NULLS LAST, s.rank;
