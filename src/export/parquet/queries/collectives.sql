-- SPDX-License-Identifier: Apache-2.0
-- Collectives by communicator, function and size: the figures of `prof report --report collectives`, of the operations
-- that were found on all their ranks, in steps that all ranks have. Skews and transfer are medians, the bus bandwidth is
-- that of the median transfer; exposed and hidden time are of a step and rank.
WITH operations AS (
    SELECT job, collective_key,
        min_by(communicator, rank) AS communicator,
        min_by(communicator_key, rank) AS communicator_key,
        min_by(function, rank) AS function,
        min_by(bytes, rank) AS bytes,
        count(*) AS ranks,
        max(arrival_ns) - min(arrival_ns) AS arrival_skew_ns,
        max(called_ns) - min(called_ns) AS launch_skew_ns,
        max(transfer_ns) AS transfer_ns,
        max(clock_error_ns) AS clock_error_ns,
        max(bus_factor) AS bus_factor,
        sum(exposed_ns) AS exposed_ns,
        sum(duration_ns - exposed_ns) AS hidden_ns
    FROM collectives
    WHERE is_counted
    GROUP BY job, collective_key
), steps_of_job AS (
    SELECT job, count(DISTINCT common_step) AS steps FROM steps GROUP BY job
)
SELECT o.job, min(o.communicator) AS communicator, o.function, o.bytes,
    max(o.ranks) AS ranks,
    count(*) AS operations,
    count(*) * 1.0 / max(s.steps) AS a_step,
    median(o.transfer_ns) AS transfer_ns,
    median(o.arrival_skew_ns) AS arrival_skew_ns,
    median(o.launch_skew_ns) AS launch_skew_ns,
    max(o.clock_error_ns) AS clock_error_ns,
    sum(o.exposed_ns) * 1.0 / (max(s.steps) * max(o.ranks)) AS exposed_ns,
    sum(o.hidden_ns) * 1.0 / (max(s.steps) * max(o.ranks)) AS hidden_ns,
    CASE WHEN median(o.transfer_ns) > 0
        THEN max(o.bus_factor) * o.bytes / median(o.transfer_ns) END AS bus_gb_per_s
FROM operations AS o
JOIN steps_of_job AS s ON s.job = o.job
GROUP BY o.job, o.communicator_key, o.function, o.bytes
ORDER BY o.job, sum(o.exposed_ns + o.hidden_ns) DESC;
