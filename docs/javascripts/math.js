// Formulas, drawn by KaTeX from this site: no network is needed. (KaTeX: MIT license, see katex/LICENSE.txt.)
document$.subscribe(({ body }) => {
  renderMathInElement(body, {
    delimiters: [
      { left: "\\[", right: "\\]", display: true },
      { left: "\\(", right: "\\)", display: false },
    ],
  });
});
