/** CRC-32 of the files of prepared directories, as DuckDB made them from the input of text-input.test.ts. */
export const textInputGolden = {
  csv: {
    'edges/relation_mapping.txt': 'bbf287d7',
    'edges/test_edges.bin': '24b8a08d',
    'edges/test_edges_weights.bin': '6dc31431',
    'edges/train_edges.bin': '7c02989c',
    'edges/train_edges_weights.bin': 'ad254107',
    'edges/train_partition_offsets.txt': 'b4dbb213',
    'edges/validation_edges.bin': 'e00962dc',
    'edges/validation_edges_weights.bin': '30d2464a',
    'nodes/node_mapping.txt': 'd28a24bc',
  },
  tsv: {
    'edges/relation_mapping.txt': '1702f2ab',
    'edges/test_edges.bin': 'd4eda560',
    'edges/test_partition_offsets.txt': '5aeac57d',
    'edges/train_edges.bin': '29d36532',
    'edges/train_partition_offsets.txt': 'fdecff10',
    'nodes/node_mapping.txt': '769a8fa8',
  },
  nodes: {
    'edges/train_edges.bin': 'efc3e344',
    'nodes/features.bin': '2023eb37',
    'nodes/label_mapping.txt': '4a8a5a60',
    'nodes/labels.bin': 'c3cfa5f6',
    'nodes/node_mapping.txt': '769a8fa8',
    'nodes/test_nodes.bin': 'fda537f8',
    'nodes/train_nodes.bin': '449c660b',
    'nodes/validation_nodes.bin': '725a75e8',
  },
  kept: {
    'edges/train_edges.bin': '9bdba7fc',
    'edges/train_partition_offsets.txt': 'a08cc912',
  },
  names: {
    'edges/train_edges.bin': 'd50944b9',
    'nodes/node_mapping.txt': '8e15d51c',
  },
};
