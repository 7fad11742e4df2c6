import CNghttp2

/// Header fields in contiguous memory for nghttp2, which copies them.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    init(_ fields: [(name: String, value: String)]) {
        for (name, value) in fields {
            bytes.append(contentsOf: name.utf8)
            bytes.append(contentsOf: value.utf8)
            lengths.append((name.utf8.count, value.utf8.count))
        }
    }

    func withPairs(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void) {
        var bytes = bytes
        bytes.withUnsafeMutableBufferPointer { memory in
            guard let start = memory.baseAddress else { return }
            var offset = 0
            var pairs: [nghttp2_nv] = []
            pairs.reserveCapacity(lengths.count)
            for (name, value) in lengths {
                pairs.append(
                    nghttp2_nv(
                        name: start + offset, value: start + offset + name, namelen: name, valuelen: value, flags: 0))
                offset += name + value
            }
            pairs.withUnsafeBufferPointer(body)
        }
    }
}
