import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Every page of the dashboard that a link leads to, on a full table and 10,000 pushes: the time of the server, what the first page
/// brings over the wire, and the count of an audience.
struct DashboardRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let (server, crowd) = try await environment.serverWithCrowd()
        try await sendPushes(server, crowd)
        let visitor = try await DashboardVisitor.logIn(at: server, directory: environment.directory)
        try await server.waitUntilIdle()
        let app = "/dashboard/apps/\(server.identity.app_uuid)"
        let pages = try await visitor.pages(
            from: [
                "/dashboard", "\(app)/devices?q=\(Devices.hex(77).prefix(8))", "\(app)/devices?topic=all",
                "\(app)/devices/\(crowd.singles[0])", "\(app)/users?q=bench",
                // What no index has: a short text that nothing has, and a version that nothing has.
                "\(app)/devices?active=yes&q=zzzz", "\(app)/devices?os_version=999",
            ])
        var rows: [Row] = []
        var worst = 0.0
        for (kind, path) in pages.sorted(by: { $0.key < $1.key }) {
            let times = try await visitor.times(of: path, count: environment.options.quick ? 50 : 100)
            worst = max(worst, times.quantile(0.99))
            rows.append(told(kind, times))
        }
        let crowded = "\(crowd.count.grouped) devices and \(pushCount.grouped) pushes"
        rows.append(
            Row(
                what: "the slowest of \(pages.count) pages of the dashboard, on \(crowded), p99",
                ours: "\(worst.fixed(1)) ms", target: "≤ 50 ms", isReached: worst <= 50))
        return rows + [
            try await firstLoad(visitor), try await count(visitor, app, crowd),
            try await live(visitor, app, server, crowd),
        ]
    }

    private var pushCount: Int { environment.options.quick ? 1_000 : 10_000 }

    private func told(_ what: String, _ times: [Double]) -> Row {
        Row(what: what, ours: "\(times.median.fixed(1)) ms, p99 \(times.quantile(0.99).fixed(1)) ms", target: "told")
    }

    /// Pushes to one device each, and one to everybody.
    private func sendPushes(_ server: Server, _ crowd: Crowd) async throws {
        let targets = crowd.singles.map { #"{"devices":["\#($0)"]}"# }
        let before = try await server.answered()
        _ = try await HTTPLoad(
            port: server.port, connections: 8,
            write: SmallPushRequests(
                path: "/v1/push", port: server.port, credentials: server.identity.sender, targets: targets
            ).write
        ).run(0..<pushCount - 1)
        _ = try await Sender(server).push(to: .all)
        while try await server.answered() < before + pushCount - 1 + crowd.count {
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// A browser that was never here: the page, and what it refers to.
    private func firstLoad(_ visitor: DashboardVisitor) async throws -> Row {
        let page = try await visitor.get("/dashboard")
        let parts = Set(page.text.matches(of: /(?:src|href)="(\/dashboard\/assets\/[^"]+)"/).map { String($0.1) })
        var bytes = page.body.readableBytes
        for part in parts { bytes += try await visitor.get(part).body.readableBytes }
        let isReached = bytes <= 100_000 && parts.count < 6
        return Row(
            what: "the first load of the dashboard, as it goes over the wire",
            ours: "\((Double(bytes) / 1_000).fixed(1)) KB, \(parts.count + 1) requests", target: "≤ 100 KB, ≤ 6",
            isReached: isReached)
    }

    /// The cost of one open list of pushes while there is something new each second: its event stream, and the page itself as often as
    /// its script gets it, once a second at most.
    private func live(_ visitor: DashboardVisitor, _ app: String, _ server: Server, _ crowd: Crowd) async throws -> Row
    {
        let (pages, seconds) = (20, environment.options.quick ? 10 : 30)
        func work(_ pages: Int) async throws -> Double {
            let before = server.child.meter.cpuMilliseconds
            try await withThrowingTaskGroup(of: Void.self) { group in
                let streams = (0..<pages).map { _ in
                    Task { try await visitor.follow("\(app)/events") }
                }
                group.addTask {
                    let sender = try await Sender(server)
                    for second in 0..<seconds {
                        _ = try await sender.push(toDevice: crowd.singles[second % crowd.singles.count])
                        try await Task.sleep(for: .seconds(1))
                    }
                }
                for _ in 0..<pages {
                    group.addTask {
                        for _ in 0..<seconds {
                            _ = try await visitor.get("\(app)/pushes")
                            try await Task.sleep(for: .seconds(1))
                        }
                    }
                }
                try await group.waitForAll()
                for stream in streams {
                    stream.cancel()
                    if case .failure(let fault as BenchmarkFault) = await stream.result { throw fault }
                }
            }
            return server.child.meter.cpuMilliseconds - before
        }
        let alone = try await work(0)
        let share = (try await work(pages) - alone) / Double(pages * seconds * 1_000) * 100
        return Row(
            what: "a live page of pushes, one of \(pages), with news each second, of a core",
            ours: "\(share.fixed(2)) %",
            target: "≤ 1 %", isReached: share <= 1)
    }

    private func count(_ visitor: DashboardVisitor, _ app: String, _ crowd: Crowd) async throws -> Row {
        var times: [Double] = []
        for _ in 0..<environment.options.rounds * 4 {
            let (milliseconds, text) = try await visitor.review(app)
            // Earlier rows may have added some.
            guard text.contains("Send it to") else { throw BenchmarkFault("there is no review: \(text.prefix(4_000))") }
            times.append(milliseconds)
        }
        let worst = times.quantile(0.99)
        return Row(
            what: "the count of an audience of all devices, with its review, p99", ours: "\(worst.fixed(1)) ms",
            target: "≤ 200 ms", isReached: worst <= 200)
    }
}

/// An operator at the dashboard.
private struct DashboardVisitor {
    let server: Server
    let http: HTTPCaller
    let cookie: String

    private static let email = "bench@example.org"
    private static let password = "a password for benchmarks"
    /// Follows no redirect, since it keeps no cookie.
    private static let client = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))

    static func logIn(at server: Server, directory: String) async throws -> DashboardVisitor {
        let file = "\(directory)/password"
        try password.write(toFile: file, atomically: true, encoding: .utf8)
        try await server.createOperator(email, passwordFile: file)
        let page = try await form("/dashboard/login", at: server, cookie: "", body: nil)
        guard let visit = page.cookies.first, let token = page.text.csrf else {
            throw BenchmarkFault("the login has no form: \(page.text)")
        }
        let answer = try await form(
            "/dashboard/login", at: server, cookie: visit,
            body: "csrf=\(token)&email=bench%40example.org&password=\(password.replacing(" ", with: "+"))")
        guard let session = answer.cookies.first(where: { $0.hasPrefix("belfry_session=") }) else {
            throw BenchmarkFault("the login was answered: \(answer.text)")
        }
        return DashboardVisitor(server: server, http: HTTPCaller(port: server.port), cookie: session)
    }

    /// With the heads of the answer, which a load generator does not look at.
    private static func form(
        _ path: String, at server: Server, cookie: String, body: String?
    ) async throws -> (text: String, cookies: [String], milliseconds: Double) {
        var request = HTTPClientRequest(url: "http://localhost:\(server.port)\(path)")
        request.headers.add(name: "Cookie", value: cookie)
        if let body {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let start = WallClock.now
        let response = try await client.execute(request, timeout: .seconds(60))
        let text = String(buffer: try await response.body.collect(upTo: 4 << 20))
        let milliseconds = WallClock.now - start
        let cookies = response.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
        return (text, cookies, milliseconds)
    }

    /// Reads an event stream until the task is cancelled.
    func follow(_ path: String) async throws {
        var request = HTTPClientRequest(url: "http://localhost:\(server.port)\(path)")
        request.headers.add(name: "Cookie", value: cookie)
        let response = try await Self.client.execute(request, timeout: .seconds(120))
        guard response.status == .ok else { throw BenchmarkFault("\(path) was answered \(response.status)") }
        for try await _ in response.body {}
    }

    func get(_ path: String) async throws -> LoadResponse {
        let reply = try await http.get(try await target(of: path), cookie: cookie)
        guard reply.status == 200 else { throw BenchmarkFault("\(path) was answered \(reply.status)") }
        return reply
    }

    /// The page that a path leads to: each visit of Compose begins a draft, whose number is in the address.
    private func target(of path: String) async throws -> String {
        guard path.hasSuffix("/compose") || path.contains("/compose?"), !path.contains("draft=") else { return path }
        var request = HTTPClientRequest(url: "http://localhost:\(server.port)\(path)")
        request.headers.add(name: "Cookie", value: cookie)
        return try await Self.client.execute(request, timeout: .seconds(60)).headers.first(name: "Location") ?? path
    }

    /// Milliseconds of each of so many requests, after one that is not counted.
    func times(of path: String, count: Int) async throws -> [Double] {
        let path = try await target(of: path)
        _ = try await get(path)
        var times: [Double] = []
        for _ in 0..<count {
            let start = WallClock.now
            times.append(try await get(path).at - start)
        }
        return times
    }

    /// One page of each kind that links lead to, by its path without ids; without searches that somebody asked to take longer.
    func pages(from first: [String]) async throws -> [String: String] {
        var found: [String: String] = [:]
        var waiting = first
        while let path = waiting.popLast() {
            let kind = Self.kind(path)
            guard found[kind] == nil, !Self.isFile(path) else { continue }
            let page = try await get(path)
            guard page.text.hasPrefix("<!doctype html>") else { continue }
            found[kind] = path
            let links = page.text.matches(of: /href="(\/dashboard[^"#]*)"/).map {
                String($0.1.replacing("&amp;", with: "&"))
            }
            waiting += links.filter {
                !$0.hasPrefix("/dashboard/assets") && !$0.contains("longer=yes") && found[Self.kind($0)] == nil
            }
        }
        return found
    }

    private static func isFile(_ path: String) -> Bool {
        let name = path.split(separator: "?")[0]
        return name.hasSuffix(".csv") || name.hasSuffix("/export") || name.hasSuffix(".jsonl")
    }

    private static func kind(_ path: String) -> String {
        let parts = path.split(separator: "?", maxSplits: 1)
        let names = parts.count == 2 ? parts[1].split(separator: "&").map { $0.prefix { $0 != "=" } }.sorted() : []
        let place = String(parts[0]).replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "*").replacing(
            /topics\/.+/, with: "topics/*"
        )
        .replacing(/\/[0-9]+/, with: "/*")
        return names.isEmpty ? place : "\(place)?\(names.joined(separator: "&"))"
    }

    /// The review of a push to everybody.
    func review(_ app: String) async throws -> (milliseconds: Double, text: String) {
        let page = try await get("\(app)/compose")
        guard let token = page.text.csrf else { throw BenchmarkFault("the page has no form") }
        let answer = try await Self.form(
            "\(app)/compose", at: server, cookie: cookie,
            body: "csrf=\(token)&body=To+all&audience=everyone&action=review")
        return (answer.milliseconds, answer.text)
    }
}

extension String {
    /// The token of the page's forms.
    fileprivate var csrf: String? { firstMatch(of: /name="csrf" value="([0-9a-f]{64})"/).map { String($0.1) } }
}
