import BelfryServer
import BelfryService
import FoundationEssentials
import Logging

/// The server that a command works on, by its admin API: in process where its data is on this machine, else over HTTP.
enum AdminBackend: Sendable {
    /// The database of this machine, beside a running server; with the reason why nothing is sent at present.
    case local(OperatorService, absence: @Sendable () async throws -> String? = { nil })
    case remote(AdminClient)

    /// Asks the admin API; nil where it answers with no body.
    ///
    /// - Parameter path: below `/admin/v1`, with its query.
    func ask(_ method: String, _ path: String, _ body: JSONObject? = nil) async throws -> JSONValue? {
        try await exchange(method, path, body).reply
    }

    /// Changes a thing by what it is. A change by somebody else meanwhile refuses it.
    ///
    /// - Parameter change: makes the body of the PATCH of what GET answers.
    func edit(_ path: String, _ change: (JSONValue?) throws -> JSONObject) async throws -> JSONValue? {
        let found = try await exchange("GET", path)
        return try await exchange("PATCH", path, try change(found.reply), ifMatch: found.tag).reply
    }

    private func exchange(
        _ method: String, _ path: String, _ body: JSONObject? = nil, ifMatch tag: String? = nil
    ) async throws -> (reply: JSONValue?, tag: String?) {
        switch self {
        case .local(let service, let absence):
            let api = LocalAdminAPI(service: service, logger: Logger(label: "belfry"), absence: absence)
            return try await api.exchange(method, path, body.map { JSONValue.object($0).encoded } ?? [], ifMatch: tag)
        case .remote(let client): return try await client.ask(method, path, body, ifMatch: tag)
        }
    }

    /// Asks the admin API for a reply of its own type.
    func answer<Reply: Decodable>(
        _ method: String, _ path: String, _ body: JSONObject? = nil
    ) async throws -> Reply {
        try Reply(answer: (await ask(method, path, body) ?? .null).encoded)
    }

    func read<Reply: Decodable>(_ path: String) async throws -> Reply { try await answer("GET", path) }

    /// Whether the admin API answers with anything but 404.
    func has(_ method: String, _ path: String) async throws -> Bool {
        do {
            _ = try await ask(method, path)
            return true
        } catch let error as APIError where error.isMissing {
            return false
        } catch let error as AdminFault where error.status == 404 {
            return false
        }
    }

    /// Why nothing is sent at present; nil while a server works.
    func serverAbsence() async throws -> String? {
        guard case .local(_, let absence) = self else { return nil }
        return try await absence()
    }
}

extension AdminBackend {
    func app(_ uuid: UUID) -> AdminThing {
        AdminThing(backend: self, path: "apps/\(uuid.lowercased)", name: "application \(uuid.lowercased)")
    }

    func platform(_ uuid: UUID) -> AdminThing {
        AdminThing(backend: self, path: "platforms/\(uuid.lowercased)", name: "platform \(uuid.lowercased)")
    }

    /// The things of all pages of a list.
    ///
    /// - Parameter part: the things of a page, and the cursor of the next one.
    func all<Page: Decodable, Thing>(
        _ path: String, _ part: (Page) -> ([Thing], String?)
    ) async throws -> [Thing] {
        var found: [Thing] = []
        var cursor: String?
        repeat {
            let page: Page = try await read("\(path)?limit=200\(cursor.map { "&cursor=\($0)" } ?? "")")
            let (things, next) = part(page)
            found += things
            cursor = next
        } while cursor != nil
        return found
    }

    func applications() async throws -> [Admin.ApplicationReply] {
        try await all("apps") { (page: Admin.ApplicationsReply) in (page.apps, page.next_cursor) }
    }

    func application(_ uuid: UUID) async throws -> ApplicationDetails {
        let platforms: Admin.PlatformsReply = try await app(uuid).answer("GET", "/platforms")
        return ApplicationDetails(application: try await app(uuid).answer("GET"), platforms: platforms.platforms)
    }

    func receipt(_ id: UUID) async throws -> Admin.ReceiptReply { try await read("pushes/\(id.lowercased)") }
}

/// A thing of the admin API, which errors name where it is missing on this machine.
struct AdminThing: Sendable {
    let backend: AdminBackend
    let path: String
    let name: String

    /// - Parameter below: the rest of the path, behind the thing's own.
    @discardableResult func ask(
        _ method: String, _ below: String = "", _ body: JSONObject? = nil
    ) async throws -> JSONValue? {
        do {
            return try await backend.ask(method, path + below, body)
        } catch let error as APIError where error.isMissing {
            throw StoreError.unknown(name)
        }
    }

    func answer<Reply: Decodable>(
        _ method: String, _ below: String = "", _ body: JSONObject? = nil
    ) async throws -> Reply {
        try Reply(answer: (await ask(method, below, body) ?? .null).encoded)
    }
}
