import json, scipy.sparse
index = json.load(open("sharded/matrix.index.json"))
A = scipy.sparse.vstack([scipy.sparse.load_npz("sharded/" + shard["files"]["matrix"]["path"]) for shard in index["shards"]])
