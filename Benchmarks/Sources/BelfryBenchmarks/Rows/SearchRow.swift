/// `/v2/registrations` of a full table: by a prefix or the whole of an id, and a page far behind.
struct SearchRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        let client = SearchClient(server: server, http: HTTPCaller(port: server.port))
        try await server.waitUntilIdle()
        let kinds: [(String, (Int) -> String)] = [
            ("a UUID's first 8 characters", { String(crowd.singles[$0 % crowd.singles.count].prefix(8)) }),
            ("a whole UUID", { crowd.singles[$0 % crowd.singles.count] }),
            ("a token's first 8 characters", { String(Devices.hex($0 % crowd.count).prefix(8)) }),
            ("a whole token", { Devices.hex($0 % crowd.count) }),
        ]
        var found: [Double] = []
        var rows: [Row] = []
        for (name, text) in kinds {
            let times = try await client.times(count) { "q=\(text($0 &* 7_919))" }
            rows.append(told("search by \(name)", times))
            found += times
        }
        let worst = found.quantile(0.99)
        rows.append(
            Row(
                what: "search by a prefix or a whole id, on \(crowd.count.grouped) devices, p99",
                ours: "\(worst.fixed(1)) ms", target: "≤ 50 ms", isReached: worst <= 50))
        let middle = try await client.times(count) {
            "q=\(Devices.hex($0 &* 7_919 % crowd.count).dropFirst(21).prefix(8))"
        }
        rows.append(told("search by 8 characters from the middle of a token", middle))
        // A machine that is too slow for it refuses.
        if let short = try? await client.times(5, { "q=\(Devices.hex($0).prefix(4))" }) {
            rows.append(told("search by 4 characters, which looks at every device", short))
        }
        rows.append(told("the first page", try await client.times(count) { _ in "size=25" }))
        let last = crowd.count / 25
        rows.append(told("page \(last.grouped)", try await client.times(count) { _ in "size=25&page=\(last)" }))
        rows.append(told("the first page of a topic of all", try await client.times(10) { _ in "topic=all" }))
        return rows
    }

    private var count: Int { environment.options.quick ? 100 : 300 }

    private func told(_ what: String, _ times: [Double]) -> Row {
        Row(what: what, ours: "\(times.median.fixed(1)) ms, p99 \(times.quantile(0.99).fixed(1)) ms", target: "told")
    }
}

/// A back end that looks devices up, one request after the other.
private struct SearchClient {
    let server: Server
    let http: HTTPCaller

    /// Milliseconds of each of so many requests.
    func times(_ count: Int, _ query: (Int) -> String) async throws -> [Double] {
        var times: [Double] = []
        for number in 0..<count {
            let start = WallClock.now
            let reply = try await registrations(query(number))
            times.append(reply.at - start)
            guard !reply.text.contains(#""totalRegistrations":0"#) else {
                throw BenchmarkFault("\(query(number)) finds no device")
            }
        }
        return times
    }

    private func registrations(_ query: String) async throws -> LoadResponse {
        try await http.get("/v2/registrations?\(query)", credentials: server.identity.sender)
    }
}
