"use strict";
(function () {
  var svg = document.documentElement, frames = document.getElementById("frames");
  var total = +frames.dataset.total, left = +frames.dataset.left;
  var width = +frames.dataset.width, char = +frames.dataset.char;
  var all = Array.prototype.slice.call(frames.children).map(function (g) {
    return {
      g: g, at: +g.dataset.at, n: +g.dataset.n, d: +g.dataset.d,
      rect: g.querySelector("rect"), text: g.querySelector("text"),
      title: g.querySelector("title").textContent
    };
  });
  var reset = document.getElementById("reset"), info = document.getElementById("info");
  var found = document.getElementById("found");
  var zoomed = all[0];

  var title = document.getElementById("title"), sum = document.getElementById("sum");
  var find = document.getElementById("search");
  var heading = title.textContent, height = +svg.getAttribute("height");

  function cut(text, room) {
    return room < 3 ? "" : text.length > room ? text.slice(0, room - 2) + ".." : text;
  }

  // fit takes the width of the window.
  function fit() {
    var w = Math.max(window.innerWidth, 320), wide = char * 17 / 12;
    width = w - 2 * left;
    svg.setAttribute("width", w);
    svg.setAttribute("viewBox", "0 0 " + w + " " + height);
    title.setAttribute("x", w / 2);
    sum.setAttribute("x", w / 2);
    find.setAttribute("x", w - left);
    found.setAttribute("x", w - left);
    title.textContent = cut(heading, Math.floor((width - 24 * char) / wide)); // between the buttons
    zoom(zoomed);
  }

  function name(f) { return f.title.replace(/ \([^(]*\)$/, ""); }

  // zoom makes a frame as wide as the picture: those below it too, those beside it vanish.
  function zoom(to) {
    zoomed = to;
    all.forEach(function (f) {
      var below = f.d < to.d && f.at <= to.at && f.at + f.n >= to.at + to.n;
      var above = f.d >= to.d && f.at >= to.at && f.at + f.n <= to.at + to.n;
      f.g.classList.toggle("off", !below && !above);
      f.g.classList.toggle("past", below);
      if (!below && !above) { return; }
      var x = left, w = width;
      if (above) {
        x += (f.at - to.at) / to.n * width;
        w = f.n / to.n * width;
      }
      f.rect.setAttribute("x", x);
      f.rect.setAttribute("width", w);
      f.text.setAttribute("x", x + 3);
      f.text.textContent = cut(name(f), Math.floor((w - 6) / char));
    });
    reset.classList.toggle("off", to === all[0]);
  }

  // search marks the functions whose names hold the text, and says what part of the time
  // was spent in them and what they call.
  function search(text) {
    var end = 0, sum = 0;
    var hits = all.filter(function (f) {
      var hit = text !== "" && name(f).toLowerCase().indexOf(text.toLowerCase()) >= 0;
      f.g.classList.toggle("hit", hit);
      return hit;
    });
    hits.sort(function (a, b) { return a.at - b.at || b.n - a.n; });
    hits.forEach(function (f) {
      if (f.at + f.n > end) {
        sum += f.at + f.n - Math.max(end, f.at);
        end = f.at + f.n;
      }
    });
    found.textContent = text === "" ? " " : hits.length + " found, " + (100 * sum / total).toFixed(1) + " %";
  }

  all.forEach(function (f) {
    f.g.addEventListener("click", function () { zoom(f); });
    f.g.addEventListener("mouseover", function () { info.textContent = cut(f.title, Math.floor(width / char)); });
    f.g.addEventListener("mouseout", function () { info.textContent = " "; });
  });
  reset.addEventListener("click", function () { zoom(all[0]); });
  function ask() {
    var text = window.prompt("Functions whose names hold:", "");
    if (text !== null) { search(text); }
  }
  find.addEventListener("click", ask);
  window.addEventListener("resize", fit);
  window.addEventListener("keydown", function (e) {
    if (e.key === "Escape") { zoom(all[0]); search(""); }
    if (e.key === "/" || e.key === "f" && e.ctrlKey) { e.preventDefault(); ask(); }
  });
  fit();
  svg.zoomTo = function (text) { all.some(function (f) { return name(f) === text && (zoom(f), true); }); };
  svg.searchFor = search;
}());
