// SPDX-License-Identifier: Apache-2.0
// What findings gain together. Gains overlap, so that they are never added: the capture was replayed for sets of them.

/**
 * The least and the most that the findings of a set can gain together, from the sets that were replayed. Gains grow with the
 * set: it gains no less than any set within it, and no more than any set around it or than its findings' gains added.
 * @param {[number, number][]} sets mask and gain
 * @param {number} mask
 * @param {number} together gain of all findings
 * @returns {{least: number, most: number}}
 */
function gainOfSet(sets, mask, together) {
  if (mask === 0) return { least: 0, most: 0 };
  let least = 0;
  let most = Math.max(together, 0);
  let added = 0;
  let allSinglesKnown = 0;
  for (const [known, gain] of sets) {
    if (known === mask) return { least: gain, most: gain };
    if ((known & mask) === known) least = Math.max(least, gain);
    if ((known & mask) === mask) most = Math.min(most, gain);
    if ((known & mask) === known && (known & (known - 1)) === 0) {
      added += gain;
      allSinglesKnown |= known;
    }
  }
  if (allSinglesKnown === mask) most = Math.min(most, added);
  return { least, most: Math.max(least, most) };
}

/**
 * The findings whose bits are set.
 * @param {number} mask
 */
function bitsOf(mask) {
  const bits = [];
  for (let bit = 0; bit < 31; ++bit) {
    if (mask & (1 << bit)) bits.push(bit);
  }
  return bits;
}

/** Which causes of idle time the findings of a rule are about: keys of `causes`. */
const causesOfRules = /** @type {Object<string, string[]>} */ ({
  launch_bound: ["launching", "latency"], host_code: ["host_code"], data_loader: ["loader"], synchronization: ["waiting"],
  blocking_copies: ["blocking_copy", "waiting"], pageable_copies: ["pageable_copy"], small_copies: ["pageable_copy", "blocking_copy"],
  allocation: ["allocating"], compilation: ["compiling"], graph_capture: ["capturing"],
});

/**
 * Whether a finding is about idle time of this cause and place: what goes if it goes. Where the page has not all of its places,
 * and of causes that have no place, the cause decides.
 * @param {Finding} finding
 * @param {string} cause key
 * @param {string} place where the host was, "cudaMalloc, forward/loss"
 */
function isAbout(finding, cause, place) {
  if (!(causesOfRules[finding.rule] ?? []).includes(cause)) return false;
  if (cause === "loader" || cause === "latency" || finding.places.length < finding.place_count) return true;
  const at = place.lastIndexOf(", ");
  const isInCall = /^(waiting|blocking_copy|pageable_copy|allocating)$/.test(cause);
  const path = !isInCall ? place : at < 0 ? "" : place.slice(at + 2);
  return finding.places.some((each) => each.path === path || (each.path !== "" && path.startsWith(each.path + "/")));
}

/**
 * The mask that an address names: "tick:1,3" are the first and the third finding, "tick:" is none of them.
 * @param {string} selection
 * @param {number} count of findings
 * @returns {number | null} null: the address says nothing of ticks
 */
function maskOfSelection(selection, count) {
  const found = /^tick:([\d,]*)$/.exec(selection);
  if (!found) return null;
  let mask = 0;
  for (const number of found[1].split(",")) {
    const bit = Number(number) - 1;
    if (number !== "" && bit >= 0 && bit < Math.min(31, count)) mask |= 1 << bit;
  }
  return mask;
}
