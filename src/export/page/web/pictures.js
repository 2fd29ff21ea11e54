// SPDX-License-Identifier: Apache-2.0
// Drawings as files: an SVG that needs no style sheet, and a PNG of it at twice the size.

const copiedStyles = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "text-anchor", "opacity"];

/**
 * A copy of a drawing with its styles written into it, on the colour of the page.
 * @param {SVGSVGElement} drawing
 * @returns {{text: string, width: number, height: number}}
 */
function drawingText(drawing) {
  const box = drawing.getBoundingClientRect();
  const width = Math.ceil(box.width);
  const height = Math.ceil(box.height);
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const from = drawing.querySelectorAll("*");
  const to = copy.querySelectorAll("*");
  from.forEach((source, index) => {
    const style = getComputedStyle(source);
    for (const name of copiedStyles) to[index].setAttribute(name, style.getPropertyValue(name));
    to[index].removeAttribute("style");
    to[index].removeAttribute("class");
  });
  const margin = 12;
  copy.setAttribute("xmlns", svgNamespace);
  copy.setAttribute("width", String(width + 2 * margin));
  copy.setAttribute("height", String(height + 2 * margin));
  copy.setAttribute("viewBox", `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`);
  copy.setAttribute("font-family", getComputedStyle(document.body).fontFamily);
  copy.removeAttribute("class");
  const ground = drawn("rect", { x: -margin, y: -margin, width: width + 2 * margin, height: height + 2 * margin });
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width: width + 2 * margin, height: height + 2 * margin };
}

/**
 * @param {SVGSVGElement} drawing
 * @returns {Promise<Blob>}
 */
async function drawingPicture(drawing) {
  const { text, width, height } = drawingText(drawing);
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = element("canvas", { width: width * 2, height: height * 2 });
    const pen = /** @type {HTMLCanvasElement} */ (canvas).getContext("2d");
    pen?.drawImage(image, 0, 0, width * 2, height * 2);
    return await canvasPicture(/** @type {HTMLCanvasElement} */ (canvas));
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {Promise<Blob>}
 */
function canvasPicture(canvas) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the canvas gave no picture"))), "image/png");
  });
}

/**
 * Buttons that save the drawing which `find` returns when they are pressed.
 * @param {string} name of the files
 * @param {() => SVGSVGElement | HTMLCanvasElement | null} find
 * @returns {HTMLElement[]}
 */
function pictureButtons(name, find) {
  const png = element("button.quiet", { type: "button" }, "Save as PNG");
  png.addEventListener("click", async () => {
    const drawing = find();
    if (!drawing) return;
    const picture = await (drawing instanceof HTMLCanvasElement ? canvasPicture(drawing) : drawingPicture(drawing));
    saveFile(picture, name + ".png");
    announce("Saved as " + name + ".png");
  });
  const svg = element("button.quiet", { type: "button" }, "Save as SVG");
  svg.addEventListener("click", () => {
    const drawing = find();
    if (!drawing || drawing instanceof HTMLCanvasElement) return;
    saveFile(new Blob([drawingText(drawing).text], { type: "image/svg+xml" }), name + ".svg");
    announce("Saved as " + name + ".svg");
  });
  return find() instanceof HTMLCanvasElement ? [png] : [png, svg];
}
