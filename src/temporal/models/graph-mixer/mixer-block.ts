/**
 * One block of MLP-Mixer (Tolstikhin et al., NeurIPS 2021) over tokens x [R, K, C]: h = x + W₂ gelu(W₁ LN(x)ᵀ)ᵀ mixes the K
 * tokens of a row, y = h + W₄ gelu(W₃ LN(h)) the C channels of a token. Rows do not depend on each other.
 */
import { Dropout, LayerNorm, Linear, Module, type ParameterOptions } from '../../../nn/index.js';
import { add, gelu, permute, type Tensor } from '../../../tensor/index.js';
import { checkOptionNames } from '../../../util/option-names.js';

export interface MixerBlockOptions {
  readonly tokens: number;
  readonly channels: number;
  /** Hidden width as a multiple of the tokens, and of the channels. */
  readonly tokenExpansion: number;
  readonly channelExpansion: number;
  readonly dropout: number;
}

export class MixerBlock extends Module {
  readonly tokenNorm: LayerNorm;
  readonly tokenMix: MixerLayer;
  readonly channelNorm: LayerNorm;
  readonly channelMix: MixerLayer;

  constructor(options: MixerBlockOptions, own: ParameterOptions = {}) {
    super();
    checkOptionNames('MixerBlock', options, {
      ...{ tokens: true, channels: true, dropout: true },
      ...{ tokenExpansion: true, channelExpansion: true },
    });
    const { tokens, channels, tokenExpansion, channelExpansion, dropout } = options;
    this.tokenNorm = new LayerNorm(tokens, own);
    this.tokenMix = new MixerLayer(tokens, tokenExpansion, dropout, own);
    this.channelNorm = new LayerNorm(channels, own);
    this.channelMix = new MixerLayer(channels, channelExpansion, dropout, own);
  }

  forward(x: Tensor): Tensor {
    const across = this.tokenMix.forward(this.tokenNorm.forward(permute(x, [0, 2, 1])));
    const h = add(x, permute(across, [0, 2, 1]));
    return add(h, this.channelMix.forward(this.channelNorm.forward(h)));
  }
}

/** drop(W₂ drop(gelu(W₁ x))) over the last axis. */
class MixerLayer extends Module {
  readonly first: Linear;
  readonly second: Linear;
  readonly drop: Dropout;

  constructor(width: number, expansion: number, dropout: number, own: ParameterOptions) {
    super();
    const hidden = Math.max(1, Math.floor(width * expansion));
    this.first = new Linear(width, hidden, own);
    this.second = new Linear(hidden, width, own);
    this.drop = new Dropout(dropout);
  }

  forward(x: Tensor): Tensor {
    return this.drop.forward(this.second.forward(this.drop.forward(gelu(this.first.forward(x)))));
  }
}
