/// Devices of a full table, at both lists: by a prefix, a part or the whole of an id, by a text that is too short for an index, and a
/// page far behind.
struct SearchRow {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        try await server.waitUntilIdle()
        var rows: [Row] = []
        for route in SearchClient.Route.allCases {
            let client = try SearchClient(server: server, route: route)
            rows += try await texts(client, route, crowd)
            rows.append(try await short(client, route, crowd))
            if route == .pcf { rows += try await pages(client, crowd) }
        }
        return rows
    }

    private var count: Int { environment.options.quick ? 100 : 300 }

    /// A text that is searched for, by a number; and whether devices have it.
    private struct Kind {
        let name: String
        var isFound = true
        let text: (Int) -> any StringProtocol
    }

    private func texts(_ client: SearchClient, _ route: SearchClient.Route, _ crowd: Crowd) async throws -> [Row] {
        func uuid(_ number: Int) -> String { crowd.singles[number % crowd.singles.count] }
        func token(_ number: Int) -> String { Devices.hex(number % crowd.count) }
        let kinds = [
            Kind(name: "a UUID's first 8 characters") { uuid($0).prefix(8) },
            Kind(name: "a whole UUID") { uuid($0) },
            Kind(name: "a token's first 8 characters") { token($0).prefix(8) },
            Kind(name: "a whole token") { token($0) },
            Kind(name: "8 characters from the middle of a token") { token($0).dropFirst(21).prefix(8) },
            Kind(name: "a token's first 4 characters") { token($0).prefix(4) },
            Kind(name: "a token's first 3 characters") { token($0).prefix(3) },
            Kind(name: "4 characters that no device has", isFound: false) { "zz\($0 % 10)y" },
            Kind(name: "3 characters that no device has", isFound: false) { "z\($0 % 10)y" },
        ]
        var rows: [Row] = []
        var (all, worst): ([SearchClient.Answer], Double) = ([], 0)
        for kind in kinds {
            let answers = try await client.answers(count, isFound: kind.isFound) { "q=\(kind.text($0 &* 7_919))" }
            rows.append(told("\(route.rawValue) by \(kind.name)", answers))
            all += answers
            // A slow kind has fewer answers, and would be lost among those of all.
            worst = max(worst, answers.map(\.milliseconds).quantile(0.99))
        }
        rows.append(
            Row(
                what: "\(route.rawValue) by 3 characters or more, on \(crowd.count.grouped) devices, the worst p99",
                ours: "\(worst.fixed(1)) ms\(Self.exceptions(all))", target: "≤ 50 ms, all answered in whole",
                isReached: worst <= 50 && all.allSatisfy { $0.status == 200 && !$0.isPartial }))
        return rows
    }

    /// Texts that no index has.
    private func short(_ client: SearchClient, _ route: SearchClient.Route, _ crowd: Crowd) async throws -> Row {
        let texts = ["a", "1f", "z", "zz", "7", "Ph"]
        let answers = try await client.answers(5 * texts.count, isFound: false) { "q=\(texts[$0 % texts.count])" }
        let last = answers.map(\.milliseconds).max() ?? 0
        return Row(
            what: "\(route.rawValue) by 1 or 2 characters, the slowest of \(answers.count)",
            ours: "\(last.fixed(1)) ms\(Self.exceptions(answers))", target: "≤ 100 ms, all answered",
            isReached: last <= 100 && answers.allSatisfy { $0.status == 200 })
    }

    private func pages(_ client: SearchClient, _ crowd: Crowd) async throws -> [Row] {
        let last = crowd.count / 25
        return [
            told("the first page", try await client.answers(count) { _ in "size=25" }),
            told("page \(last.grouped)", try await client.answers(count) { _ in "size=25&page=\(last)" }),
            told("the first page of a topic of all", try await client.answers(10) { _ in "topic=all" }),
        ]
    }

    private func told(_ what: String, _ answers: [SearchClient.Answer]) -> Row {
        let times = answers.map(\.milliseconds)
        return Row(
            what: what,
            ours: "\(times.median.fixed(1)) ms, p99 \(times.quantile(0.99).fixed(1)) ms\(Self.exceptions(answers))",
            target: "told")
    }

    /// How many answers were of a part of the devices, or refusals.
    private static func exceptions(_ answers: [SearchClient.Answer]) -> String {
        let partial = answers.count { $0.isPartial }
        let refused = answers.filter { $0.status != 200 }
        return (partial > 0 ? "; \(partial) of \(answers.count) partial" : "")
            + (refused.first.map { "; \(refused.count) of \(answers.count) answered \($0.status)" } ?? "")
    }
}
