
"use strict";
(function () {
  function each(list, f) { Array.prototype.forEach.call(list, f); }
  function all(selector, f) { each(document.querySelectorAll(selector), f); }

  // What needs this script is not shown without it.
  all(".tools", function (e) { e.hidden = false; });

  function openAll(open) {
    all("details", function (d) { d.open = open; });
  }
  document.getElementById("open-all").addEventListener("click", function () { openAll(true); });
  document.getElementById("close-all").addEventListener("click", function () { openAll(false); });

  // A link into a closed section opens it.
  function reveal() {
    var at = location.hash && document.getElementById(location.hash.slice(1));
    if (!at) { return; }
    var inner = at.querySelector(":scope > details");
    if (inner && at.tagName === "LI") { inner.open = true; }
    for (var e = at; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") { e.open = true; }
    }
    at.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // Each flame graph: zoom and search.
  all(".profile", function (profile) {
    var svg = profile.querySelector(".flame");
    if (!svg) { return; }
    var info = profile.querySelector(".info"), found = profile.querySelector(".found");
    var boxes = Array.prototype.map.call(svg.children, function (g) {
      var title = g.querySelector("title").textContent;
      return {
        g: g, x: parseFloat(g.getAttribute("x")), w: parseFloat(g.getAttribute("width")),
        y: +g.getAttribute("y"), title: title, name: title.replace(/, [0-9.]+ %(, inlined)?$/, "")
      };
    });
    var slack = 0.002; // percents are rounded

    function zoom(to) {
      boxes.forEach(function (b) {
        var below = b.y > to.y && b.x <= to.x + slack && b.x + b.w >= to.x + to.w - slack;
        var above = b.y <= to.y && b.x >= to.x - slack && b.x + b.w <= to.x + to.w + slack;
        b.g.style.display = below || above ? "" : "none";
        b.g.classList.toggle("past", below);
        if (!below && !above) { return; }
        var x = below ? 0 : (b.x - to.x) / to.w * 100, w = below ? 100 : b.w / to.w * 100;
        b.g.setAttribute("x", x + "%");
        b.g.setAttribute("width", w + "%");
        var text = b.g.querySelector("text");
        if (w >= 1.5 && !text) {
          text = document.createElementNS("http://www.w3.org/2000/svg", "text");
          text.setAttribute("x", 3);
          text.setAttribute("y", 12.5);
          text.textContent = b.name;
          b.g.appendChild(text);
        } else if (w < 1.5 && text) {
          text.remove();
        }
      });
    }

    // A call within one that is found is not counted again.
    function search(text) {
      var sum = 0, end = 0;
      var hits = boxes.filter(function (b) {
        var hit = text !== "" && b.name.toLowerCase().indexOf(text.toLowerCase()) >= 0;
        b.g.classList.toggle("hit", hit);
        return hit;
      });
      hits.sort(function (a, b) { return a.x - b.x || b.w - a.w; });
      hits.forEach(function (b) {
        if (b.x + b.w > end) {
          sum += b.x + b.w - Math.max(end, b.x);
          end = b.x + b.w;
        }
      });
      found.textContent = text === "" ? "" : hits.length + " found, " + sum.toFixed(1) + " %";
    }

    boxes.forEach(function (b) {
      b.g.addEventListener("click", function () { zoom(b); });
      b.g.addEventListener("mouseover", function () { info.textContent = b.title; });
      b.g.addEventListener("mouseout", function () { info.textContent = "\u00a0"; });
    });
    profile.querySelector(".reset").addEventListener("click", function () { zoom(boxes[0]); });
    profile.querySelector(".find").addEventListener("input", function (e) { search(e.target.value); });
  });
}());
