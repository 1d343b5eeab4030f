/** Arrays that pass through npy and safetensors bytes, a model that is trained on them and exported as ONNX. */
import {
  exportOnnx,
  parseNpy,
  parseSafetensors,
  TensorView,
  writeNpy,
  writeSafetensors,
} from 'skein/interop';
import { Adam, Linear, mseLoss, Sequential } from 'skein/nn';
import { manualSeed, randn, tensor } from 'skein/tensor';
import { takeSteps } from './fit.js';

manualSeed(1);
const rows = TensorView.fromTensor(randn([50, 3]));
const x = parseNpy(writeNpy(rows)).toTensor();
const table = parseSafetensors(writeSafetensors({ x: rows }));
if (table.views.x.shape.join() !== '50,3')
  throw new Error('safetensors: the table came back with another shape');
const y = x.matmul(tensor([[1], [-2], [0.5]]));
const model = new Sequential([new Linear(3, 1)]);
takeSteps(new Adam(model.parameters(), { lr: 0.1 }), () => mseLoss(model.forward(x), y), 80);
if (typeof exportOnnx !== 'function') throw new Error('exportOnnx is missing');
