// SPDX-License-Identifier: Apache-2.0
// The types of the data, which docs/reference/page-data.md explains, and the list of views.
//
// The files of this folder are plain scripts. The build joins them in the order of ../CMakeLists.txt into one function, so
// that what one declares the later ones see. A view is one file: it calls addView() with the name of its section.

/** @typedef {{key: string, name: string, kind: string, colour: string}} Part */
/** @typedef {{key: string, name: string, part: number | null}} Cause */
/** @typedef {{text: string, cause: number, ns: number, pieces: number, longest_ns: number, did?: string}} IdlePlace */
/** @typedef {{part: number, ns: number, places?: IdlePlace[], place_count?: number}} PartTime */
/** @typedef {{what: string, place: string, path?: string, line?: string, code?: string, cost_ns: number, count: number,
 *             longest_ns: number, at_ns: number}} FindingPlace */
/** @typedef {{rule: string, title: string, noun: string, gain_ns: number, share: number, cost_ns: number, steps: number,
 *             confidence: string, group: string, changes_results: boolean, bound: string, beyond?: string, places: FindingPlace[],
 *             place_count: number, modules: string[], brief: string, advice: string[]}} Finding */
/** @typedef {{list: Finding[], sets: [number, number][], is_complete: boolean, together_ns: number, step_ns: number,
 *             steps: number, sampled: number, least_share: number, looked: string[], not_looked: string[],
 *             remarks: string[], why?: string}} Findings */
/** @typedef {{sentence: string, lead: string[], has_steps: boolean, steps: number, warm_up: number, what: string,
 *             step_ns: number, median_ns: number, min_ns: number, max_ns: number, host_ns: number, busy_ns: number,
 *             communication_ns: number, idle_ns: number, devices: number, by_gpu: boolean, parts: PartTime[],
 *             run?: {recorded_ns: number, startup_ns: number, warm_up_ns: number, steps_ns: number, between_ns: number,
 *                    end_ns: number}}} Answer */
/** @typedef {{number: number, length_ns: number, parts: [number, number][]}} OneStep */
/** @typedef {{count: number, per_column: number, unit_ns: number, number: number[], start: number[], length: number[],
 *             host: number[], counted: number[], longest?: number[], longest_number?: number[],
 *             parts: {part: number, time: number[]}[],
 *             left_out: {number: number, length_ns: number, why: string}[], left_out_count: number, median: OneStep, median_ns: number,
 *             median_parts: [number, number][], longest_steps: OneStep[], why?: string}} Steps */
/** @typedef {{name: string, kind: string, times?: number, gpu_ns: number[], host_ns: number[] | null, wait_ns?: number,
 *             calls: number, first_ns?: number, children?: TreeNode[]}} TreeNode */
/** @typedef {{nodes: TreeNode, step_ns: number, busy_ns: number, model: string[], why?: string}} Where */
/** @typedef {{name: string, short: string, class: string, launches: number, ns: number, mean_ns: number, min_ns: number,
 *             median_ns: number, max_ns: number, share: number, histogram?: {first: number, counts: number[]},
 *             phases: [string, number][], from: {kind: string, text: string, ns: number, launches: number}[]}} KernelRow */
/** @typedef {{total_ns: number, launches: number, count: number, rows: KernelRow[],
 *             classes?: {key: string, name: string, ns: number, launches: number}[],
 *             copies?: CopyRow[], rest: {count: number, ns: number, launches: number}, why?: string}} Kernels */
/** @typedef {{name: string, launches: number, ns: number, mean_ns: number, min_ns: number, median_ns: number, max_ns: number,
 *             bytes: number, rate: number}} CopyRow */
/** @typedef {{line: string, code?: string | null, cause: string, cause_key: string, ns: number, count: number,
 *             steps: number, longest_ns: number, gain_ns?: number, stack?: string}} LineRow */
/** @typedef {{id: string, name: string, number: number, start_ns: number, length_ns: number, slices: number,
 *             merged: number}} StepInTime */
/** @typedef {{kind: string, title: string, group: string, depth?: number, start: number[], length: number[],
 *             name: number[], count?: number[], call?: number[], from_lane?: number[], class?: number[],
 *             phase?: number[], cause?: number[], place?: number[], on?: number[]}} Lane */
/** @typedef {{number: number, start_ns: number, length_ns: number, host?: [number, number], strings: string[],
 *             lanes: Lane[]}} Timeline */
/** @typedef {{name: string, unit: string, first: number, median: number, last: number, count: number, time_ns: number[],
 *             value: number[]}} Counter */
/** @typedef {{key: string, name: string, step: number | null, time_ns: number, allocated: number, reserved: number | null,
 *             where: string, asked?: number}} MemoryMoment */
/** @typedef {{name: string, limit: number | null, has_steps: boolean, curve: MemoryCurve,
 *             peaks: {step: number[], time_ns: number[], allocated: number[]}, moments: MemoryMoment[], by_use: number[][],
 *             places: MemoryPlaces}} MemoryDevice */
/** @typedef {{steps: {count: number, per_column: number, number: number[], start_ns: number[], end_ns: number},
 *             uses: {key: string, name: string, colour: string}[], devices: MemoryDevice[],
 *             findings: {title: string, advice: string}[], why?: string}} Memory */
/** @typedef {{page: number, prof: string, unit?: {name: string, ns: number, decimals: number}, run: {title: string, command: string, program: string, file: string,
 *             gpus: {name: string, count: number}[], rank: number | null}, parts: Part[], causes: Cause[],
 *             views: Object<string, any>}} Results */

/** What a view is made from, and may do. */
/** @typedef {{section: HTMLElement, figure: HTMLElement, results: Results, data: any}} ViewInput */
/** What others may ask of a view that has been drawn. */
/** @typedef {{show?: (address: Address) => void, redraw?: () => void, keys?: Object<string, () => void>,
 *             prepareForPrint?: () => void}} View */
/** The part of the location behind '#': a view, what is selected in it, and settings. */
/** @typedef {{view: string, selection: string, settings: Object<string, string>}} Address */

/** The findings that are ticked, and who wants to know that they have changed. */
const ticked = {
  /** @type {Finding[]} */
  findings: [],
  /** @type {(() => void)[]} */
  listeners: [],
  /** @param {Finding[]} findings */
  set(findings) {
    this.findings = findings;
    for (const listener of this.listeners) listener();
  },
};

/** @type {{name: string, make: (input: ViewInput) => View}[]} */
const viewMakers = [];

/**
 * Registers a view. The section with this name in the document becomes its own when the document has been read.
 * @param {string} name
 * @param {(input: ViewInput) => View} make
 */
function addView(name, make) {
  viewMakers.push({ name, make });
}
