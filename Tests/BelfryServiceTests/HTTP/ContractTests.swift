import BelfryTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The router and api/openapi.yaml say the same.
@Suite struct ContractTests {
    @Test func `contract and routes match in both directions`() async throws {
        let served = try await Self.served(by: try Self.router())
        let described = try ContractFile(String(buffer: Contract.text)).operations
        #expect(served.subtracting(described).sorted() == [], "not in api/openapi.yaml")
        #expect(described.subtracting(served).sorted() == [], "in api/openapi.yaml alone")
        #expect(described.count > 10)
    }

    @Test(arguments: [nil, "Basic eDp5", "Bearer x"])
    func `only open routes answer without valid credentials`(header: String?) async throws {
        let open: Set = [
            "GET /v1/version", "GET /healthcheck", "GET /health/live", "GET /health/ready", "GET /openapi.yaml",
            "GET /genero/{key}/token_maintainer/{command}", "POST /genero/{key}/token_maintainer/{command}",
            "GET /genero/{key}", "GET /genero/{key}/**", "GET /genero/{key}/token_maintainer",
            // Of web pages, whose key names a platform: see WebRegistrationTests.
            "GET /web/v1/{registration_key}", "OPTIONS /web/v1/{registration_key}",
            "POST /web/v1/{registration_key}/registrations", "OPTIONS /web/v1/{registration_key}/registrations",
            "POST /web/v1/{registration_key}/registrations/end",
            "OPTIONS /web/v1/{registration_key}/registrations/end", "POST /web/v1/{registration_key}/events",
            "OPTIONS /web/v1/{registration_key}/events", "POST /web/v1/{registration_key}/endpoints",
            "OPTIONS /web/v1/{registration_key}/endpoints", "GET /sdk/web/v1/belfry.js", "GET /sdk/web/v1/belfry.d.ts",
            "GET /sdk/web/v1/belfry-worker.js", "GET /sdk/web/v1/belfry-encryption.js", "GET /sdk/web/v1/test",
            "GET /sdk/web/v1/test.js", "GET /sdk/web/v1/integrity.json",
        ]
        let clock = ManualClock()
        let router = try Self.router(clock)
        let routes = Set(router.routes.map { Route(path: $0.path.description, method: $0.method) })
        try await Hummingbird.Application(router: router).test(.router) { client in
            for route in routes where route.method != .head {
                // One limiter counts the guesses at all routes: an hour later it has forgotten them.
                clock.advance(by: .seconds(3_600))
                let headers: HTTPFields = header.map { [.authorization: $0] } ?? [:]
                let status = try await client.execute(uri: route.uri, method: route.method, headers: headers).status
                // Paths that ask for no credentials are not there for those without the key, or at another address.
                let isKeyed = [
                    "/acrobits/", "/pnm2", "/carma/", "/wp/", "/_matrix/", "/mattermost/", "/rocket-chat/", "/gorush/",
                    "/sip/", "/ntfy/", "/gotify/", "/apprise/", "/alerts/",
                ].contains { route.path.hasPrefix($0) }
                let isHidden = isKeyed && status == .notFound
                let isShut = isHidden || [.unauthorized, .methodNotAllowed, .tooManyRequests].contains(status)
                #expect(isShut != open.contains(route.name), "\(route.name) answers \(status)")
            }
        }
    }

    private static func router(_ clock: ManualClock = ManualClock()) throws -> Router<APIContext> {
        RecordedServer.router(try SQLiteStore.temporary(clock: clock), PlaintextVault(), clock, PCF.Options())
    }

    /// The routes that the router does not answer with a 405. HEAD goes with GET and is no operation of its own.
    private static func served(by router: Router<APIContext>) async throws -> Set<String> {
        let routes = Set(router.routes.map { Route(path: $0.path.description, method: $0.method) })
        let app = Hummingbird.Application(router: router)
        return try await app.test(.router) { client in
            var served: Set<String> = []
            for route in routes where route.method != .head {
                let status = try await client.execute(uri: route.uri, method: route.method).status
                if status != .methodNotAllowed { served.insert(route.name) }
            }
            return served
        }
    }

    private struct Route: Hashable {
        let path: String
        let method: HTTPRequest.Method

        private var parts: [Substring] { path.split(separator: "/") }
        var uri: String { "/" + parts.map { $0.hasPrefix(":") ? "x" : String($0) }.joined(separator: "/") }
        var name: String {
            let path = parts.map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
            return "\(method.rawValue) /\(path)"
        }
    }

    @Test func `everyone gets the contract; cached callers get it once`() async throws {
        let router = try Self.router()
        try await Hummingbird.Application(router: router).test(.router) { client in
            let first = try await client.execute(uri: "/openapi.yaml", method: .get)
            #expect(first.status == .ok)
            #expect(first.headers[.contentType] == "application/yaml")
            #expect(first.headers[.cacheControl] == "no-cache")
            #expect(first.body.readableBytes == Contract.text.readableBytes)
            let tag = try #require(first.headers[.eTag])
            let second = try await client.execute(
                uri: "/openapi.yaml", method: .get, headers: [.ifNoneMatch: #""other", W/\#(tag)"#])
            #expect(second.status == .notModified)
            #expect(second.headers[.eTag] == tag)
            #expect(second.body.readableBytes == 0)
            let other = try await client.execute(
                uri: "/openapi.yaml", method: .get, headers: [.ifNoneMatch: #""other""#])
            #expect(other.status == .ok)
        }
    }

    @Test func `the built-in contract is the file`() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../../api/openapi.yaml").standardized
        #expect(try String(contentsOf: file, encoding: .utf8) == String(buffer: Contract.text))
    }

    @Test func `every reference of the contract leads somewhere`() throws {
        let file = ContractFile(String(buffer: Contract.text))
        #expect(try file.operations.isEmpty == false)
        let references = file.references
        #expect(references.count > 20)
        #expect(references.subtracting(file.anchors).sorted() == [])
    }
}

/// As much of YAML as api/openapi.yaml promises to keep to: what stands how deep.
private struct ContractFile {
    private let lines: [Substring]

    init(_ text: String) { lines = text.split(separator: "\n") }

    struct Odd: Error { let line: String }

    /// `GET /v1/push` and the like. A path that refers to another has its methods.
    var operations: Set<String> {
        get throws {
            var methods: [String: Set<String>] = [:]
            var aliases: [String: String] = [:]
            var path = ""
            for line in section("paths") {
                if let key = line.key(behind: 2) { path = key }
                guard let key = line.key(behind: 4) else { continue }
                switch key {
                case "get", "put", "post", "delete", "patch", "options":
                    methods[path, default: []].insert(key.uppercased())
                case "$ref": aliases[path] = try Self.target(of: line)
                case "parameters", "summary", "description": continue
                default: throw Odd(line: String(line))
                }
            }
            for (alias, path) in aliases { methods[alias] = methods[path] }
            return Set(methods.flatMap { path, methods in methods.map { "\($0) \(path)" } })
        }
    }

    private static func target(of line: Substring) throws -> String {
        guard let reference = line.firstMatch(of: #/"#/paths/([^"]+)"/#) else { throw Odd(line: String(line)) }
        return String(reference.1.replacing("~1", with: "/"))
    }

    /// Every `#/components/…` that is referred to, and every one there is.
    var references: Set<String> {
        Set(lines.flatMap { $0.matches(of: #/"#/components/([^"]+)"/#).map { String($0.1) } })
    }

    var anchors: Set<String> {
        var kind = ""
        var anchors: Set<String> = []
        for line in section("components") {
            if let key = line.key(behind: 2) { kind = key }
            if let key = line.key(behind: 4) { anchors.insert("\(kind)/\(key)") }
        }
        return anchors
    }

    private func section(_ name: String) -> ArraySlice<Substring> {
        let start = lines.firstIndex(of: "\(name):").map { $0 + 1 } ?? lines.endIndex
        let end = lines[start...].firstIndex { $0.first.map { $0 != " " && $0 != "#" } ?? false } ?? lines.endIndex
        return lines[start..<end]
    }
}

extension Substring {
    /// The key of a line that is indented by just so many blanks.
    fileprivate func key(behind blanks: Int) -> String? {
        guard prefix(blanks).allSatisfy({ $0 == " " }), let first = dropFirst(blanks).first, first != " ", first != "#",
            let colon = dropFirst(blanks).range(of: ":")
        else { return nil }
        return String(self[index(startIndex, offsetBy: blanks)..<colon.lowerBound])
    }
}
