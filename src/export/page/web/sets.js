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
