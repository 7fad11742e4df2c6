import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The lines with curl that pages show: each is sent to the server as it stands, with its names of secrets replaced.
@Suite struct CurlLineTests {
    @Test func `every curl line of the set-up page works`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let made = try await dashboard.admin.createApplication(name: Name("Dairy"), by: TestDashboard.author)
        let platform = try await dashboard.admin.createPlatform(
            of: made.application, kind: .ios, mode: .production, name: Name("Phones"),
            credentials: ["topic": .string("org.example.app")], by: TestDashboard.author)
        let page = try await browser.get("/apps/\(made.application.uuid.lowercased)/setup")
        let lines = CurlLine.all(
            on: page,
            [
                "PLATFORM_SECRET": platform.secret, "API_KEY": made.apiKey,
                "\"TOKEN\"": "\"\(String(repeating: "ab", count: 32))\"",
            ])
        #expect(lines.count == 2)
        for line in lines { #expect(try await line.status(from: dashboard).kind == .successful, "\(line)") }
        #expect(try await dashboard.store.deviceCount(on: platform.platform.key) == 1)
        let push = try #require(try await dashboard.store.allPushes().last)
        #expect(push.content.shared.title == "Hello")
    }

    @Test func `the curl line of every review works`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let key = try await dashboard.admin.createKey(
            name: Name("curl"), scope: .operator, bounds: .everything, by: TestDashboard.author
        ).text.text
        let edit = try await browser.get("\(path)/schedules/\(contents.schedule.key.id)/edit")
        let version = try #require(edit.text.firstMatch(of: /name="version" value="([^"]*)"/)?.1)
        let fields = [("body", "it's \"new\" \\ $KEY"), ("audience", "everyone")]
        let later = [
            ("version", String(version)), ("send_at", String((dashboard.clock.now + .seconds(7_200)).text.prefix(16))),
        ]
        for review in [
            try await browser.post("\(path)/compose", fields),
            try await browser.post("\(path)/schedules/\(contents.schedule.key.id)/edit", fields + later),
        ] {
            let lines = CurlLine.all(on: review, ["Bearer $KEY": "Bearer \(key)"])
            #expect(lines.count == 1, "\(review.status)")
            for line in lines { #expect(try await line.status(from: dashboard).kind == .successful, "\(line)") }
        }
        #expect(try await dashboard.store.allPushes().last?.content.body == fields[0].1)
        let schedule = try await dashboard.store.schedule(contents.schedule.key, of: contents.application.key)
        #expect(schedule?.pushRequest.content.body == fields[0].1)
    }

    @Test func `no other page shows a curl line`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let person = try await dashboard.person("other@a.example")
        for route in dashboard.routes.paths
        where !route.isPost && !route.path.hasSuffix("events") && !route.path.hasSuffix("setup") {
            let page = try await browser.get(contents.filled(route.path, person: person))
            #expect(CurlLine.all(on: page, [:]).isEmpty, "\(route.path)")
        }
    }
}

/// A line with curl, split as a shell does.
private struct CurlLine: CustomStringConvertible {
    let description: String
    private var method = HTTPRequest.Method.get
    private var path = ""
    private var headers: HTTPFields = [:]
    private var body: String?

    static func all(on page: TestPage, _ values: [String: String]) -> [CurlLine] {
        page.text.matches(of: /<code>(curl [^<]*)<\/code>/).map { match in
            var text = String(match.1)
            for (entity, character) in [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
            {
                text = text.replacing(entity, with: character)
            }
            return CurlLine(values.reduce(text) { $0.replacing($1.key, with: $1.value) })
        }
    }

    private init(_ text: String) {
        description = text
        var words = Self.words(text).dropFirst()
        while let word = words.popFirst() {
            switch word {
            case "-u":
                headers[.authorization] = "Basic " + Data((words.popFirst() ?? "").utf8).base64EncodedString()
            case "-H":
                let parts = (words.popFirst() ?? "").split(separator: ":", maxSplits: 1).map(String.init)
                if parts.count == 2, let name = HTTPField.Name(parts[0]) { headers[name] = parts[1].trimmed }
            case "-X": method = HTTPRequest.Method(words.popFirst() ?? "") ?? .get
            case "-d":
                body = words.popFirst()
                if method == .get { method = .post }
            default: path = "/" + word.split(separator: "/", maxSplits: 2).dropFirst(2).joined()
            }
        }
    }

    /// Quotation marks of both kinds, and `\` before a character or the end of a line.
    private static func words(_ text: String) -> [String] {
        var (words, word, quote) = ([String](), String?.none, Character?.none)
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == quote {
                quote = nil
            } else if character == "\\", quote != "'", let next = rest.popFirst() {
                if next != "\n" { word = (word ?? "") + String(next) }
            } else if quote == nil, character == "'" || character == "\"" {
                (quote, word) = (character, word ?? "")
            } else if quote == nil, character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap(\.self)
    }

    func status(from dashboard: TestDashboard) async throws -> HTTPResponse.Status {
        let router = ResponseMiddleware.router(clock: dashboard.clock)
        PCFRoutes(
            dashboard.services, options: PCF.Options(),
            health: {
                PCF.Health(
                    database: .init(isHealthy: true, message: ""), queue: .init(isHealthy: true, message: ""),
                    scheduler: .init(isHealthy: true, message: ""))
            }
        ).add(to: router)
        AdminRoutes(dashboard.services, server: FakeServer()).add(to: router)
        return try await Hummingbird.Application(router: router).test(.router) { client in
            try await client.execute(
                uri: path, method: method, headers: headers, body: body.map(ByteBuffer.init(string:))
            ).status
        }
    }
}
