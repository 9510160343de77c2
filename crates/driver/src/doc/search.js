// Entries are [path, link, description]. A name that begins with what was typed comes first, then
// one that contains it, then a description that does.
(function () {
  const field = document.getElementById("search");
  const list = document.getElementById("found");
  function rank(entry, wanted) {
    const path = entry[0].toLowerCase();
    const name = path.slice(path.lastIndexOf("::") + 2);
    if (name === wanted) return 0;
    if (name.startsWith(wanted)) return 1;
    if (path.includes(wanted)) return 2;
    return entry[2].toLowerCase().includes(wanted) ? 3 : 4;
  }
  field.addEventListener("input", function () {
    const wanted = field.value.trim().toLowerCase();
    list.replaceChildren();
    if (!wanted) return;
    const found = ENTRIES.map((entry) => [rank(entry, wanted), entry]).filter((it) => it[0] < 4);
    found.sort((a, b) => a[0] - b[0] || a[1][0].length - b[1][0].length);
    for (const [, entry] of found.slice(0, 40)) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = entry[1];
      link.textContent = entry[0];
      const about = document.createElement("small");
      about.textContent = " " + entry[2].slice(0, 80);
      item.append(link, about);
      list.append(item);
    }
  });
})();
