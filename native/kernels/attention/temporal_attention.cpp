// temporalAttention and its gradient: destinations in chunks, the edges of each in tiles of rows that are gathered once,
// used for scores and sums, and forgotten. A destination with more edges than a tile has gathers its rows twice.
//
// Gradients of w and b are summed in double by chunk, and the chunks in order.
#include "attention/temporal_attention.h"

#include "attention/temporal_rows.h"

namespace skein {
namespace {

// Destinations per chunk: about 30 microseconds of work.
constexpr i64 kDestinations = 16;

// Calls f(from, to) for the tiles of edges begin … end − 1, after `load(from, to)` unless that tile is there already.
template <class Load, class F>
inline void for_tiles(i64 begin, i64 end, bool loaded, Load&& load, F&& f) {
  for (i64 from = begin; from < end; from += kTileEdges) {
    const i64 to = from + kTileEdges < end ? from + kTileEdges : end;
    if (!(loaded && end - begin <= kTileEdges)) load(from, to);
    f(from, to);
  }
}

}  // namespace

template <class T>
void temporal_attention(const T* query, const T* h, const i32* neighbors, const T* features, const i32* event_rows,
                        const T* spans, const T* w, const T* b, const i32* offsets, const u32* key, double drop, T* raw,
                        T* alpha, T* encoded, T* y, i64 num_dst, i64 heads, i64 dim_node, i64 dim_edge, i64 dim_time,
                        double scale, double slope) {
  const EdgeRows<T> rows{h, neighbors, features, event_rows, dim_node, dim_edge, dim_time};
  const Waves<T> waves(w, b, dim_time);
  const EdgeMask<T> mask(key, drop);
  const i64 padded = rows.padded();
  const auto cosines = [&](i64 p, T* place) {
    waves.template row<true>(spans[p], place);
    if (encoded) std::copy_n(place, dim_time, encoded + p * dim_time);
  };
  parallel_for(num_dst, kDestinations, [&](i64 first, i64 last) {
    thread_local EdgeBuffers<T> buffers;
    buffers.resize(padded, heads, dim_time);
    T* x = buffers.x.data();
    const auto load = [&](i64 from, i64 to) { rows.gather(from, to, x, cosines); };
    rows.fetch(offsets[first], offsets[first + 1]);
    for (i64 i = first; i < last; ++i) {
      const i64 begin = offsets[i], end = offsets[i + 1], n = (end - begin) * heads;
      if (i + 1 < last) rows.fetch(end, offsets[i + 2]);
      buffers.edges(n);
      T* shares = buffers.shares.data();
      rows.take_heads(query, i, num_dst, heads, buffers.query.data());
      for_tiles(begin, end, false, load, [&](i64 from, i64 to) {
        row_dots(x, buffers.query.data(), padded, raw + from * heads, to - from, heads);
      });
      with_heads(heads, [&](auto k) {
        softmax_edges<k.value>(raw + begin * heads, alpha + begin * heads, buffers.common.data(), end - begin, heads,
                               static_cast<T>(scale), static_cast<T>(slope));
      });
      std::copy_n(alpha + begin * heads, n, shares);
      mask.apply(i, n, shares);
      std::fill_n(buffers.sums.data(), heads * padded, T(0));
      for_tiles(begin, end, true, load, [&](i64 from, i64 to) {
        row_sums(x, shares + (from - begin) * heads, padded, buffers.sums.data(), to - from, heads);
      });
      rows.put_heads(buffers.sums.data(), i, num_dst, heads, y);
    }
  });
}

namespace {

// g becomes the gradient of raw from that of the masked shares: mask, softmax, scale, slope.
template <class T>
void score_gradients(const EdgeMask<T>& mask, i64 i, const T* raw, const T* alpha, T* g, T* common, i64 n, i64 heads,
                     T scale, T slope) {
  mask.apply(i, n * heads, g);
  for (i64 k = 0; k < heads; ++k) common[k] = T(0);
  for (i64 p = 0; p < n; ++p)
    for (i64 k = 0; k < heads; ++k) common[k] += alpha[p * heads + k] * g[p * heads + k];
  for (i64 p = 0; p < n; ++p) {
    for (i64 k = 0; k < heads; ++k) {
      const i64 c = p * heads + k;
      g[c] = alpha[c] * (g[c] - common[k]) * (raw[c] > T(0) ? scale : scale * slope);
    }
  }
}

// The gradient of an edge's row: a[p, k] query[k] + c[p, k] out[k], summed over the heads.
template <class T>
struct RowGradients {
  const T* a;
  const T* query;
  const T* c;
  const T* out;
  i64 padded, heads;

  inline Lanes<T> at(i64 edge, i64 f) const {
    return mix_lanes(a + edge * heads, query + f, c + edge * heads, out + f, padded, heads);
  }
};

// Adds what the edges give to the gradients of w and b: in T over a tile, then in double.
template <class T>
void time_gradients(const RowGradients<T>& rows, const Waves<T>& waves, const T* spans, i64 from, i64 to, i64 at, T* sines,
                    double* sum_w, double* sum_b) {
  const i64 wide = static_cast<i64>(waves.w.size());
  for (i64 p = from; p < to; ++p) waves.template row<false>(spans[p], sines + (p - from) * wide);
  for (i64 j = 0; j < wide; j += Lanes<T>::count) {
    auto of_w = Lanes<T>::set(T(0)), of_b = of_w;
    for (i64 p = from; p < to; ++p) {
      const auto g = rows.at(p, at + j) * Lanes<T>::load(sines + (p - from) * wide + j);
      of_b = of_b - g;
      of_w = mad(Lanes<T>::set(-spans[p]), g, of_w);
    }
    alignas(64) T part[2][Lanes<T>::count];
    of_w.store(part[0]);
    of_b.store(part[1]);
    for (int k = 0; k < Lanes<T>::count; ++k) {
      sum_w[j + k] += static_cast<double>(part[0][k]);
      sum_b[j + k] += static_cast<double>(part[1][k]);
    }
  }
}

}  // namespace

template <class T>
void temporal_attention_backward(const T* gy, const T* query, const T* h, const i32* neighbors, const T* features,
                                 const i32* event_rows, const T* spans, const T* w, const T* b, const i32* offsets,
                                 const u32* key, double drop, const T* raw, const T* alpha, const T* encoded, T* g_query,
                                 T* g_neighbors, T* gw, T* gb, i64 num_dst, i64 heads, i64 dim_node, i64 dim_edge,
                                 i64 dim_time, double scale, double slope) {
  const EdgeRows<T> rows{h, neighbors, features, event_rows, dim_node, dim_edge, dim_time};
  const Waves<T> waves(w, b, dim_time);
  const EdgeMask<T> mask(key, drop);
  const i64 padded = rows.padded(), chunks = (num_dst + kDestinations - 1) / kDestinations;
  const bool times = gw != nullptr && dim_time > 0;
  const i64 wide = padded_width<T>(dim_time);
  std::vector<double> partial(static_cast<std::size_t>(times ? (chunks + 1) * 2 * wide : 0), 0.0);
  const auto cosines = [&](i64 p, T* place) {
    std::copy_n(encoded + p * dim_time, dim_time, place);
  };
  parallel_for(num_dst, kDestinations, [&](i64 first, i64 last) {
    thread_local EdgeBuffers<T> buffers;
    buffers.resize(padded, heads, dim_time);
    T* x = buffers.x.data();
    T* q = buffers.query.data();
    T* out = buffers.out.data();
    double* sums = partial.data() + (first / kDestinations + 1) * 2 * wide;
    const auto load = [&](i64 from, i64 to) { rows.gather(from, to, x, cosines); };
    rows.fetch(offsets[first], offsets[first + 1]);
    for (i64 i = first; i < last; ++i) {
      const i64 begin = offsets[i], end = offsets[i + 1], n = (end - begin) * heads;
      if (i + 1 < last) rows.fetch(end, offsets[i + 2]);
      buffers.edges(n);
      T* g = buffers.scores.data();
      T* shares = buffers.shares.data();
      rows.take_heads(query, i, num_dst, heads, q);
      rows.take_heads(gy, i, num_dst, heads, out);
      for_tiles(begin, end, false, load, [&](i64 from, i64 to) {
        row_dots(x, out, padded, g + (from - begin) * heads, to - from, heads);
      });
      score_gradients(mask, i, raw + begin * heads, alpha + begin * heads, g, buffers.common.data(), end - begin, heads,
                      static_cast<T>(scale), static_cast<T>(slope));
      if (g_query != nullptr) {
        std::fill_n(buffers.sums.data(), heads * padded, T(0));
        for_tiles(begin, end, true, load, [&](i64 from, i64 to) {
          row_sums(x, g + (from - begin) * heads, padded, buffers.sums.data(), to - from, heads);
        });
        rows.put_heads(buffers.sums.data(), i, num_dst, heads, g_query);
      }
      if (n == 0 || (g_neighbors == nullptr && !times)) continue;
      std::copy_n(alpha + begin * heads, n, shares);
      mask.apply(i, n, shares);
      const RowGradients<T> mixed{g - begin * heads, q, shares - begin * heads, out, padded, heads};
      for (i64 p = begin; p < end && g_neighbors != nullptr; ++p) {
        T* to = g_neighbors + p * dim_node;
        for_lanes<T>(dim_node, [&](i64 f, auto lanes) { mixed.at(p, f).store(to + f, lanes); });
      }
      for (i64 from = begin; from < end && times; from += kTileEdges) {
        const i64 to = from + kTileEdges < end ? from + kTileEdges : end;
        time_gradients(mixed, waves, spans, from, to, rows.time_at(), buffers.sines.data(), sums, sums + wide);
      }
    }
  });
  if (!times) return;
  double* SKEIN_RESTRICT total = partial.data();
  for (i64 k = 1; k <= chunks; ++k) {
    const double* SKEIN_RESTRICT part = partial.data() + k * 2 * wide;
    for (i64 j = 0; j < 2 * wide; ++j) total[j] += part[j];
  }
  for (i64 j = 0; j < dim_time; ++j) {
    gw[j] = static_cast<T>(total[j]);
    gb[j] = static_cast<T>(total[wide + j]);
  }
}

#define SKEIN_INSTANTIATE(T)                                                                                          \
  template void temporal_attention(const T*, const T*, const i32*, const T*, const i32*, const T*, const T*, const T*, \
                                   const i32*, const u32*, double, T*, T*, T*, T*, i64, i64, i64, i64, i64, double,    \
                                   double);                                                                           \
  template void temporal_attention_backward(const T*, const T*, const T*, const i32*, const T*, const i32*, const T*, \
                                            const T*, const T*, const i32*, const u32*, double, const T*, const T*,   \
                                            const T*, T*, T*, T*, T*, i64, i64, i64, i64, i64, double, double);
SKEIN_INSTANTIATE(float)
SKEIN_INSTANTIATE(double)
#undef SKEIN_INSTANTIATE

}  // namespace skein
