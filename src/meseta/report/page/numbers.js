"use strict";
/* Numbers as text, with their unit and only the digits that are known: as page/numbers.py does. */
const mesetaNumbers = (() => {
  const [MINUS, SPACE] = ["\u2212", "\u00a0"];
  const power = (value, digits) => Number(value.toExponential(digits - 1).split("e")[1]);
  const signed = (text) => text.replace("-", MINUS);
  const fixed = (value, decimals) => {
    const text = value.toFixed(decimals);
    return Number(text) ? signed(text) : text.replace("-", "");
  };
  const trimmed = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);
  const tenTo = (n) => `10${String(n).replace(/[-0-9]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])}`;
  const isPlain = (n) => n >= -4 && n < 7;
  const withUnit = (text, unit) => (unit ? `${text}${SPACE}${unit}` : text);
  const rounded = (value, place) =>
    place > 0 ? fixed(Math.round(value / 10 ** place) * 10 ** place, 0) : fixed(value, -place);

  function plain(value, digits = 5) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "not known" : `${value < 0 ? MINUS : ""}∞`;
    if (value === 0) return "0";
    const n = power(value, digits);
    if (isPlain(n)) return trimmed(fixed(value, Math.max(0, digits - 1 - n)));
    return `${trimmed(fixed(value / 10 ** n, digits - 1))}·${tenTo(n)}`;
  }

  function estimate({ mean, std }, unit) {
    const half = 1.959964 * std;
    if (!Number.isFinite(mean) || !Number.isFinite(half)) return withUnit(plain(mean), unit);
    const n = mean || half ? Math.max(...[mean, half].filter((v) => v).map((v) => power(v, 2))) : 0;
    const place = half ? power(half, 2) - 1 : -Infinity;
    if (place < n - 7) return withUnit(plain(mean, 7), unit);
    const shift = isPlain(n) ? 0 : n;
    const [a, b] = [mean, half].map((v) => rounded(v / 10 ** shift, place - shift));
    const both = `${a}${SPACE}±${SPACE}${b}`;
    return withUnit(shift ? `(${both})·${tenTo(shift)}` : both, unit);
  }

  function percent(share) {
    if (share === 0 || share === 1) return `${100 * share}${SPACE}%`;
    for (const decimals of [1, 2, 3]) {
      const text = (100 * share).toFixed(decimals);
      if (![0, 100].includes(Number(text))) return `${text}${SPACE}%`;
    }
    return `${share > 0.5 ? "over 99.999" : "below 0.001"}${SPACE}%`;
  }

  return { SPACE, estimate, percent, plain, signed, withUnit };
})();
