/// The import of the devices that the other rows of `--scale` are measured on.
struct WorldRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        _ = try await environment.serverWithCrowd()
        guard let arrival = environment.arrival else { throw BenchmarkFault("the world is made with --scale") }
        let size = Double(arrival.bytes) / Double(arrival.count)
        return [
            Row(
                what: "\(arrival.count.grouped) devices with ten tags and six values, imported by one command"
                    + (arrival.isKept ? ", by an earlier run" : ""),
                ours: "\((Double(arrival.count) / arrival.seconds).perSecond), \((arrival.seconds / 60).fixed(1)) min; "
                    + "\(size.whole) bytes in the database for each",
                target: "told")
        ]
    }
}
