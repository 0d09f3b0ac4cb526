"use strict";
/* The model of the report, so that the page can compute f and g at any design by itself.

Pure functions of numbers: nothing here knows of the page. Everything is in the units of the model
(unit cube, standardised values); estimates are in those of the user. views/played.py
computes the same in Python, and tests hold the two together. */
const mesetaModel = (() => {
  const { abs, ceil, exp, floor, hypot, log, max, min, sqrt, PI } = Math;
  const BAND = 1.959964; // half-width of the 95 % interval of a Gaussian, in standard deviations
  const TOGETHER = 512; // draws that average over noise which moves several columns
  const QUICK = 64; // the same for a map
  const WIDE = 12; // noise of so many units of s: series in 1 / s, see kernels/matern.py
  const WIDE_TERMS = 18;
  const JOINT = 256; // draws at which f is sampled jointly
  const PATHS = 100; // samples of f

  // ---- error function

  // exp(x^2) erfc(x) for x >= 0: a series without cancellation, or the continued fraction.
  function erfcx(x) {
    if (x < 2) {
      // erf(x) exp(x^2) = 2 / sqrt(pi) sum_n 2^n x^(2n+1) / (2n+1)!!
      let term = x;
      let sum = x;
      for (let n = 1; term > 1e-17 * sum; n++) {
        term *= (2 * x * x) / (2 * n + 1);
        sum += term;
      }
      return exp(x * x) - (2 / sqrt(PI)) * sum;
    }
    // 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))) / sqrt(pi), from the far end
    let tail = x;
    for (let n = ceil(12 + 160 / (x * x)); n > 0; n--) tail = x + n / 2 / tail;
    return 1 / (tail * sqrt(PI));
  }

  // ---- kernels of one dimension, and their averages over Normal noise

  const POLYNOMIALS = { matern12: [1], matern32: [1, 1], matern52: [1, 1, 1 / 3] };
  const NU = { matern12: 0.5, matern32: 1.5, matern52: 2.5 };

  function polynomial(p, s) {
    let total = p[p.length - 1];
    for (let i = p.length - 2; i >= 0; i--) total = total * s + p[i];
    return total;
  }

  // kappa(z), z in lengthscales.
  function kappa(shape, z) {
    if (shape === "se") return exp(-0.5 * z * z);
    const s = sqrt(2 * NU[shape]) * abs(z);
    return polynomial(POLYNOMIALS[shape], s) * exp(-s);
  }

  // E kappa(z + std u), u standard Normal; `wide` says which form, as for one perturbed argument.
  function smoothed(shape, z, std, wide) {
    if (std === 0) return kappa(shape, z);
    if (shape === "se") {
      const width = sqrt(1 + std * std); // l^2 becomes l^2 + s^2
      return exp((-0.5 * z * z) / (width * width)) / width;
    }
    const unit = sqrt(2 * NU[shape]);
    const [s, sigma, p] = [unit * abs(z), unit * std, POLYNOMIALS[shape]];
    return wide ? smoothedWide(p, s, sigma) : smoothedNear(p, s, sigma);
  }

  // T(s) + T(-s), T(s) = int_0^inf p(t) exp(-t) N(t; s, sigma^2) dt, by truncated moments.
  function smoothedNear(p, s, sigma) {
    const density = exp(-0.5 * (s / sigma) ** 2);
    let total = 0;
    for (const side of [s, -s]) {
      const mu = side - sigma * sigma;
      const beyond = 0.5 * density * erfcx(abs(mu) / (sqrt(2) * sigma));
      let before = 0;
      let now = mu > 0 ? exp(min(0, (sigma * sigma) / 2 - side)) - beyond : beyond;
      for (let j = 0; j < p.length; j++) {
        total += p[j] * now;
        // J_1 = mu J_0 + sigma phi, J_j+1 = mu J_j + j sigma^2 J_j-1
        const rest = j === 0 ? (density * sigma) / sqrt(2 * PI) : j * sigma * sigma * before;
        [before, now] = [now, rest + mu * now];
      }
    }
    return total;
  }

  // Noise much wider than the kernel: sum_j m_2j / (2j)! N^(2j)(s), m_2j = int t^2j kappa(t) dt.
  function smoothedWide(p, s, sigma) {
    const z = s / sigma;
    let [before, now, total] = [0, 1, 0]; // Hermite polynomials He_-1, He_0
    for (let j = 0; j < WIDE_TERMS; j++) {
      let moment = 0; // m_2j / (2j)! = 2 sum_i p_i (2j + i)! / (2j)!
      let ratio = 1;
      for (let i = 0; i < p.length; i++) {
        if (i > 0) ratio *= 2 * j + i;
        moment += 2 * p[i] * ratio;
      }
      total += (moment / sigma ** (2 * j + 1)) * now;
      for (const n of [2 * j, 2 * j + 1]) [before, now] = [now, z * now - n * before];
    }
    return (total * exp(-0.5 * z * z)) / sqrt(2 * PI);
  }

  // ---- places to which the noise takes a column

  function toRaw(place, x) {
    const u = place.offset + place.unit * x;
    return place.log ? exp(u) : u;
  }

  function fromRaw(place, y) {
    const u = place.log ? log(max(y, 1e-6 * place.low)) : y;
    return (u - place.offset) / place.unit;
  }

  function tabulated(table, x) {
    const at = min(max(x, 0), 1) * (table.length - 1);
    const i = min(floor(at), table.length - 2);
    return table[i] + (at - i) * (table[i + 1] - table[i]);
  }

  function moved(place, x, zeta) {
    const raw = toRaw(place, x);
    let y = zeta;
    if (place.kind === "multiply") y = raw * exp(zeta);
    else if (place.kind === "shift") y = raw + zeta;
    else if (place.kind === "relative") y = raw + raw * zeta;
    else if (place.kind === "width") y = raw + tabulated(place.width, x) * zeta;
    if (place.edge === "clip") y = min(max(y, place.low), place.high);
    if (place.edge === "reflect") {
      const wide = place.high - place.low;
      const turn = y - place.low - 2 * wide * floor((y - place.low) / (2 * wide));
      y = place.low + (turn > wide ? 2 * wide - turn : turn);
    }
    return fromRaw(place, y);
  }

  // Values of one column in use, and weights that sum to 1.
  function placed(column, x, factor, zeta, given) {
    const m = zeta.length;
    const z = new Float64Array(m);
    const weights = given ? Float64Array.from(given) : new Float64Array(m).fill(1 / m);
    const place = column.place;
    if (place === null) {
      for (let j = 0; j < m; j++) z[j] = x + factor * zeta[j];
      return { z, weights };
    }
    for (let j = 0; j < m; j++) z[j] = moved(place, x, factor * zeta[j]);
    if (place.edge === "truncate") {
      const [low, high] = [fromRaw(place, place.low), fromRaw(place, place.high)];
      const slack = 1e-12 * (high - low);
      for (let j = 0; j < m; j++) {
        if (!(z[j] >= low - slack && z[j] <= high + slack)) weights[j] = 0;
        z[j] = min(max(z[j], low), high);
      }
    }
    return { z, weights: normalised(weights) };
  }

  // Where nothing is inside, all draws count alike.
  function normalised(weights) {
    let sum = 0;
    for (const weight of weights) sum += weight;
    return sum > 0 ? weights.map((w) => w / sum) : weights.fill(1 / weights.length);
  }

  function asked(confused, row) {
    const far = confused.choices.map((choice) =>
      choice.reduce((sum, value, k) => sum + (row[confused.dims[k]] - value) ** 2, 0));
    return far.indexOf(min(...far));
  }

  // Probabilities of what is carried out; `factor` times as many mistakes, as far as there are.
  function carriedOut(confused, row, factor) {
    const i = asked(confused, row);
    const other = 1 - confused.matrix[i][i];
    const times = other > 0 ? min(factor, 1 / other) : 0;
    return confused.matrix[i].map((p, j) => min(1, max(0, (i === j ? 1 - times : 0) + times * p)));
  }

  // ---- linear algebra: matrices are lower triangles in rows

  function cholesky(K, n) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = K[i * n + j];
        for (let k = 0; k < j; k++) sum -= K[i * n + k] * K[j * n + k];
        if (i > j) K[i * n + j] = sum / K[j * n + j];
        else if (sum > 0) K[i * n + i] = sqrt(sum);
        else return null;
      }
    }
    return K;
  }

  // L^-1 k
  function whitened(L, n, k) {
    const a = Float64Array.from(k);
    for (let i = 0; i < n; i++) {
      let sum = a[i];
      for (let j = 0; j < i; j++) sum -= L[i * n + j] * a[j];
      a[i] = sum / L[i * n + i];
    }
    return a;
  }

  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  }

  // ---- random numbers, the same each time

  function normals(count) {
    let state = 20177;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
    };
    return Float64Array.from({ length: count }, () =>
      sqrt(-2 * log(uniform())) * Math.cos(2 * PI * uniform()));
  }

  // ---- the model

  function modelOf(ground) {
    const { parts, data, noise } = ground;
    const d = ground.row.length;
    const n = data.counts.length;
    const P = data.points.length;
    const single = P === n;
    const points = Array.from({ length: d }, (_, i) => Float64Array.from(data.points, (p) => p[i]));
    const draws = Array.from({ length: d }, (_, i) => Float64Array.from(noise.own, (x) => x[i]));
    const joint = new Set([...noise.together, ...noise.confused].flatMap((each) => each.dims));
    const intervals = parts.every((part) => part.noise.length === n);
    const memory = new Map(); // factors of the last values of each column
    const factors = parts.map(() => null); // Cholesky factors

    // factors of the noise by column
    function byColumn(times) {
      const all = new Array(d).fill(1);
      ground.knobs.forEach((knob, k) => {
        const width = knob.choices > 2 ? knob.choices : 1;
        for (let i = 0; i < width; i++) all[knob.column + i] = knob.fixed ? 1 : times[k];
      });
      return all;
    }

    // averages over the points of each value
    function observed(k) {
      if (single) return k;
      const sums = new Float64Array(n);
      for (let i = 0, p = 0; i < n; i++) {
        for (let c = 0; c < data.counts[i]; c++, p++) sums[i] += data.weights[p] * k[p];
      }
      return sums;
    }

    // Between g(x) and f(points), and between g(x) and itself: the factor of one column.
    function alone(part, i, x, factor, noisy) {
      const [column, shape, length] = [noise.columns[i], part.shapes[i], part.lengthscale[i]];
      const [at, k] = [points[i], new Float64Array(P)];
      if (!noisy) {
        for (let p = 0; p < P; p++) k[p] = kappa(shape, (x - at[p]) / length);
        return { k, same: () => 1 };
      }
      if (column.nodes.length) {
        const { z, weights } = placed(column, x, factor, column.nodes, column.weights);
        return overNodes(part, [i], [z], weights);
      }
      const std = (factor * column.std) / length;
      const shift = x + factor * column.bias;
      const wide = shape !== "se" && std * sqrt(2 * NU[shape]) > WIDE;
      for (let p = 0; p < P; p++) k[p] = smoothed(shape, (shift - at[p]) / length, std, wide);
      return { k, same: () => smoothed(shape, 0, sqrt(2) * std, wide) };
    }

    // The same for columns that have nodes: z holds their values, one array for each column.
    function overNodes(part, dims, z, weights) {
      const k = new Float64Array(P);
      const between = (j, other, p) => {
        let value = 1;
        for (let c = 0; c < dims.length; c++) {
          const i = dims[c];
          value *= kappa(part.shapes[i], (z[c][j] - other[c][p]) / part.lengthscale[i]);
        }
        return value;
      };
      const at = dims.map((i) => points[i]);
      for (let j = 0; j < weights.length; j++) {
        if (!weights[j]) continue;
        for (let p = 0; p < P; p++) k[p] += weights[j] * between(j, at, p);
      }
      const same = () => {
        let sum = 0;
        for (let j = 0; j < weights.length; j++) {
          for (let l = 0; l < j; l++) {
            if (weights[j] && weights[l]) sum += 2 * weights[j] * weights[l] * between(j, z, l);
          }
          sum += weights[j] * weights[j];
        }
        return sum;
      };
      return { k, same };
    }

    function togetherNodes(group, row, times, most) {
      const weights = new Float64Array(min(most, group.drawn.length)).fill(1);
      const z = group.dims.map((i, c) => {
        const own = draws[i].subarray(0, weights.length);
        const found = placed(noise.columns[i], row[i], times[i], own, null);
        found.weights.forEach((w, j) => { weights[j] *= w; });
        return found.z.map((value, j) => value + times[i] * group.drawn[j][c]);
      });
      return { z, weights: normalised(weights) };
    }

    function confusedNodes(group, row, times) {
      const weights = Float64Array.from(carriedOut(group, row, times[group.dims[0]]));
      return { z: group.dims.map((_, c) => group.choices.map((choice) => choice[c])), weights };
    }

    // The last factors of every column and group are kept: a slider moves one of them.
    function remembered(key, inputs, make) {
      const last = memory.get(key) ?? [];
      const name = inputs.join();
      const found = last.find((each) => each.name === name);
      if (found) return found.value;
      const value = make();
      memory.set(key, [{ name, value }, ...last.slice(0, 63)]);
      return value;
    }

    // All factors of g (or f) at a row, each for all parts; `most` draws of what moves together.
    function factorsAt(row, times, noisy, most = TOGETHER) {
      const found = [];
      for (let i = 0; i < d; i++) {
        if (noisy && joint.has(i)) continue;
        found.push(remembered(`${noisy}${i}`, noisy ? [row[i], times[i]] : [row[i]], () =>
          parts.map((part) => alone(part, i, row[i], times[i], noisy))));
      }
      if (!noisy) return found;
      const groups = [
        ...noise.together.map((group) => [group, togetherNodes]),
        ...noise.confused.map((group) => [group, confusedNodes]),
      ];
      groups.forEach(([group, nodes], number) => {
        const inputs = group.dims.flatMap((i) => [row[i], times[i]]);
        found.push(remembered(`group ${number} ${most}`, inputs, () => {
          const { z, weights } = nodes(group, row, times, most);
          return parts.map((part) => overNodes(part, group.dims, z, weights));
        }));
      });
      return found;
    }

    function covariances(found, which) {
      const k = new Float64Array(P).fill(parts[which].variance);
      for (const each of found) {
        const factor = each[which].k;
        for (let p = 0; p < P; p++) k[p] *= factor[p];
      }
      return observed(k);
    }

    function priorVariance(found, which) {
      return found.reduce((product, each) => {
        each[which].own ??= each[which].same();
        return product * each[which].own;
      }, parts[which].variance);
    }

    // ---- the factorisation of the data

    function correlation(part, a, b) {
      let value = part.variance;
      for (let i = 0; i < d; i++) value *= kappa(part.shapes[i], (a[i] - b[i]) / part.lengthscale[i]);
      return value;
    }

    function factorised(which) {
      if (factors[which]) return factors[which];
      const part = parts[which];
      const K = new Float64Array(n * n);
      const first = [0];
      for (const count of data.counts) first.push(first[first.length - 1] + count);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j <= i; j++) {
          let sum = 0;
          for (let a = first[i]; a < first[i + 1]; a++) {
            for (let b = first[j]; b < first[j + 1]; b++) {
              const weight = data.weights[a] * data.weights[b];
              sum += weight * correlation(part, data.points[a], data.points[b]);
            }
          }
          K[i * n + j] = sum + (i === j ? part.noise[i] : 0);
        }
      }
      factors[which] = cholesky(K, n) ?? "none";
      return factors[which];
    }

    // ---- in the user's units

    const toUser = (value) => ground.sign * (ground.y_offset + ground.y_scale * value);
    const [least, most] = [ground.possible[0] ?? -Infinity, ground.possible[1] ?? Infinity];
    const possible = (value) => min(max(value, least), most);

    function mixed(means, variances) {
      let [mean, variance] = [0, 0];
      means.forEach((m, i) => { mean += parts[i].weight * m; });
      means.forEach((m, i) => { variance += parts[i].weight * (variances[i] + (m - mean) ** 2); });
      const value = toUser(mean);
      const inside = possible(value);
      const std = hypot(ground.y_scale * sqrt(variance), inside - value);
      return {
        mean: inside,
        std,
        low: max(least, inside - BAND * std),
        high: min(most, inside + BAND * std),
      };
    }

    // Estimates of f (noisy false) or g at a row; std is NaN where there are no intervals.
    function estimate(row, times, noisy) {
      const found = factorsAt(row, byColumn(times), noisy);
      const [means, variances] = [[], []];
      parts.forEach((part, which) => {
        const k = covariances(found, which);
        means.push(part.mean + dot(k, part.alpha));
        const L = intervals ? factorised(which) : "none";
        if (L === "none") variances.push(NaN);
        else {
          const a = whitened(L, n, k);
          variances.push(max(0, priorVariance(found, which) - dot(a, a)));
        }
      });
      return mixed(means, variances);
    }

    // The mean of g alone, quickly.
    function meanOfG(row, times) {
      const found = factorsAt(row, byColumn(times), true, QUICK);
      let mean = 0;
      parts.forEach((part, which) => {
        mean += part.weight * (part.mean + dot(covariances(found, which), part.alpha));
      });
      return possible(toUser(mean));
    }

    // Where draws of the noise take a design: an array for each column, and weights.
    function places(row, times) {
      const by = byColumn(times);
      const m = noise.own.length;
      const weights = new Float64Array(m).fill(1);
      const z = draws.map((own, i) => {
        const found = placed(noise.columns[i], row[i], by[i], own, null);
        found.weights.forEach((w, j) => { weights[j] *= w * m; });
        return found.z;
      });
      for (const group of noise.together) {
        group.dims.forEach((i, c) => {
          for (let j = 0; j < m; j++) z[i][j] += by[i] * group.drawn[j][c];
        });
      }
      for (const group of noise.confused) {
        const shares = carriedOut(group, row, by[group.dims[0]]);
        for (let j = 0; j < m; j++) {
          let [taken, end] = [0, shares[0]];
          while (taken < shares.length - 1 && group.drawn[j] > end) end += shares[++taken];
          group.dims.forEach((i, c) => { z[i][j] = group.choices[taken][c]; });
        }
      }
      return { z, weights: normalised(weights) };
    }

    // k_f between one place and all points; `still` has the factors of columns that do not move.
    function atPlace(part, z, j, moving, still, k) {
      k.set(still);
      const power = new Float64Array(P);
      for (const i of moving) {
        const [shape, at, x] = [part.shapes[i], points[i], z[i][j]];
        if (shape === "se") {
          const scale = sqrt(0.5) / part.lengthscale[i];
          for (let p = 0; p < P; p++) {
            const u = scale * (x - at[p]);
            power[p] -= u * u;
          }
        } else {
          const scale = sqrt(2 * NU[shape]) / part.lengthscale[i];
          const poly = POLYNOMIALS[shape];
          const [b, c] = [poly[1] ?? 0, poly[2] ?? 0];
          for (let p = 0; p < P; p++) {
            const s = scale * abs(x - at[p]);
            k[p] *= 1 + s * (b + s * c);
            power[p] -= s;
          }
        }
      }
      for (let p = 0; p < P; p++) k[p] *= exp(power[p]);
      return observed(k);
    }

    function stillFactors(part, row, moving) {
      const k = new Float64Array(P).fill(part.variance);
      for (let i = 0; i < d; i++) {
        if (moving.includes(i)) continue;
        for (let p = 0; p < P; p++) k[p] *= kappa(part.shapes[i], (row[i] - points[i][p]) / part.lengthscale[i]);
      }
      return k;
    }

    function movingColumns(row, z) {
      return z.flatMap((values, i) => (values.some((value) => value !== row[i]) ? [i] : []));
    }

    // The values in use: the mean of f at each draw of the noise, and weights.
    function values(row, times) {
      const { z, weights } = places(row, times);
      const moving = movingColumns(row, z);
      const found = new Float64Array(weights.length);
      const k = new Float64Array(P);
      parts.forEach((part) => {
        const still = stillFactors(part, row, moving);
        for (let j = 0; j < found.length; j++) {
          const mean = part.mean + dot(atPlace(part, z, j, moving, still, k), part.alpha);
          found[j] += part.weight * mean;
        }
      });
      return { values: found.map((value, j) => possible(toUser(value + (noise.added[j] ?? 0)))), weights };
    }

    // The share of values between limits, for functions that f may be: their 2.5 and 97.5 %.
    function shareInterval(row, times, low, high) {
      if (!intervals) return null;
      const { z, weights } = places(row, times);
      const moving = movingColumns(row, z);
      const m = min(JOINT, weights.length);
      const some = normalised(weights.slice(0, m));
      const counts = parts.slice(1).map((part) => Math.round(PATHS * part.weight));
      counts.unshift(PATHS - counts.reduce((a, b) => a + b, 0));
      const shares = [];
      for (let which = 0; which < parts.length; which++) {
        const [part, L] = [parts[which], factorised(which)];
        if (L === "none" || !counts[which]) continue;
        const still = stillFactors(part, row, moving);
        const at = (j) => z.map((column) => column[j]);
        const [rows, means, white] = [[], [], []];
        for (let j = 0; j < m; j++) {
          const k = atPlace(part, z, j, moving, still, new Float64Array(P));
          means.push(part.mean + dot(k, part.alpha));
          white.push(whitened(L, n, k));
          rows.push(at(j));
        }
        const C = new Float64Array(m * m);
        for (let i = 0; i < m; i++) {
          for (let j = 0; j <= i; j++) C[i * m + j] = correlation(part, rows[i], rows[j]) - dot(white[i], white[j]);
        }
        const root = rooted(C, m, part.variance);
        if (root === null) return null;
        const u = normals(counts[which] * m);
        for (let path = 0; path < counts[which]; path++) {
          let share = 0;
          for (let i = 0; i < m; i++) {
            let value = means[i];
            for (let j = 0; j <= i; j++) value += root[i * m + j] * u[path * m + j];
            const inside = possible(toUser(value + (noise.added[i] ?? 0)));
            if (inside >= low && inside <= high) share += some[i];
          }
          shares.push(share);
        }
      }
      shares.sort((a, b) => a - b);
      const quantile = (q) => tabulated(shares, q);
      return shares.length > 1 ? [quantile(0.025), quantile(0.975)] : null;
    }

    // The root of a covariance, with as little added to its diagonal as rounding needs.
    function rooted(C, m, variance) {
      for (let jitter = 1e-12; jitter < 1e-4; jitter *= 10) {
        const copy = Float64Array.from(C);
        for (let i = 0; i < m; i++) copy[i * m + i] += jitter * variance;
        const root = cholesky(copy, m);
        if (root) return root;
      }
      return null;
    }

    // ---- parameters

    // Where a value lies in its range, from 0 to 1.
    function shareOf(knob, value) {
      const scale = knob.log ? log : (v) => v;
      return (scale(value) - scale(knob.low)) / (scale(knob.high) - scale(knob.low));
    }

    function rowOf(settings) {
      const row = Float64Array.from(ground.row);
      ground.knobs.forEach((knob, k) => {
        if (knob.choices > 2) {
          for (let i = 0; i < knob.choices; i++) row[knob.column + i] = i === settings[k] ? 1 : 0;
        } else row[knob.column] = shareOf(knob, settings[k]);
      });
      return row;
    }

    // The standard deviation of one parameter in use, in its own units.
    function spread(k, row, times) {
      const knob = ground.knobs[k];
      const { z, weights } = places(row, times);
      const [low, high] = knob.log ? [log(knob.low), log(knob.high)] : [knob.low, knob.high];
      const raw = z[knob.column].map((x) => {
        const u = low + (high - low) * x;
        return knob.log ? exp(u) : u;
      });
      const column = noise.columns[knob.column];
      if (!knob.log && !column.nodes.length && !joint.has(knob.column)) {
        return byColumn(times)[knob.column] * column.std * (knob.high - knob.low); // exact
      }
      const mean = dot(weights, raw);
      return sqrt(max(0, raw.reduce((sum, value, j) => sum + weights[j] * (value - mean) ** 2, 0)));
    }

    // The probability that another choice is carried out.
    function mistakes(k, row, times) {
      const group = noise.confused.find((each) => each.dims[0] === ground.knobs[k].column);
      return group ? 1 - carriedOut(group, row, times[k])[asked(group, row)] : 0;
    }

    return {
      intervals, estimate, meanOfG, values, shareInterval, rowOf, shareOf, spread, mistakes, places,
    };
  }

  return { modelOf, erfcx, smoothed, kappa };
})();
