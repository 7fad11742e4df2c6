import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Synchronization

/// Authenticates Carma's apps and back ends: by HTTP Basic with a user and password, or by a token in a header of its own.
struct CarmaAuthenticator: Sendable {
    let store: any Store
    let requestLimiter: RequestLimiter
    let passwords: KnownPasswords

    /// Throws a 401 for unknown credentials, and a 403 for those of another customer.
    func account(_ customerID: Int64, of request: Request, _ context: APIContext) async throws -> CarmaAccount {
        let account = try await anyAccount(customerID, of: request, context)
        guard let account else {
            throw APIError(
                .unauthorized, "Unknown user, password or token", headers: [.wwwAuthenticate: #"Basic realm="Carma""#])
        }
        guard account.customerID == customerID else {
            throw APIError(.forbidden, "These credentials are not those of customer \(customerID)")
        }
        return account
    }

    /// The account of these credentials, of this customer before any other; nil where there is none.
    private func anyAccount(
        _ customerID: Int64, of request: Request, _ context: APIContext
    ) async throws -> CarmaAccount? {
        if let token = request.headers.value(.carmaToken) {
            let name = try request.headers.authorization() == nil ? token : "carma"
            return try await requestLimiter.checkCredentials(name, of: request, context, letsRightPass: true) {
                try await store.carmaAccount(tokenHash: SecretHash.of(token))
            }
        }
        guard let basic = try request.headers.authorization().flatMap(BasicCredentials.parts) else {
            return try await requestLimiter.checkCredentials(String?.none, of: request, context) { nil }
        }
        let user = String(decoding: basic.user, as: UTF8.self)
        let password = String(decoding: basic.secret, as: UTF8.self)
        let named = try await store.carmaAccounts(user: user.normalized)
        // One derivation, whatever the user has: of the account of the customer in the path, or of one of another customer, or of none.
        let account =
            named.first { $0.customerID == customerID }
            ?? named.first { passwords.isKnown(password, $0.hashText) } ?? named.first
        if let account, passwords.isKnown(password, account.hashText) { return account }
        return try await passwords.once(password, account?.hashText ?? user) {
            // No limit over all addresses: strangers who know the name, which shipped apps show, would keep the back end out.
            try await requestLimiter.checkGuess(at: "carma \(user)", nil, of: request, context) { caller in
                guard try await passwords.matches(password, account?.hashText, for: caller) else { return nil }
                return account
            }
        }
    }
}

extension CarmaAccount {
    fileprivate var hashText: String { String(decoding: passwordHash, as: UTF8.self) }
}

/// The push device API of Carma, later Symplify, and the part of its REST API by which back ends send.
///
/// Source: docs/compatibility/carma.md.
package enum Carma {
    package struct Options: Sendable {
        /// The address at which devices reach this server.
        package var address: ServerAddress

        package init(address: ServerAddress = ServerAddress()) { self.address = address }
    }

    static let bodyBytesMax = 65_536
    /// The limit on a list of contacts, in bytes.
    static let listBytesMax = 4 << 20
    /// And in lines: it is answered when its contacts are written, which has to be within a request's time.
    static let listLinesMax = 100_000

    /// An error in the form that Carma's clients decode. Source: carmaclient, carmaclient.go.
    static func response(_ error: APIError) -> Response {
        Response(
            status: error.status,
            json: ByteBuffer(bytes: JSONValue.object(["error": .string(error.message)]).encoded),
            headers: error.headers)
    }
}

/// Passwords that were found to be right, so that a client that sends its own with each request has it derived once.
///
/// What is remembered is a code under a key of this process, and never the password. A replaced password has another hash, and so
/// another code.
final class KnownPasswords: Sendable {
    private let passwords: any PasswordHashing
    private let key = SymmetricKey(size: .bits256)
    private let right = Mutex<Set<[UInt8]>>([])
    private let running = SingleFlight<[UInt8], CarmaAccount?>()

    /// Accounts are few; when there are more than these, all are derived anew.
    private static let rememberedMax = 1_024

    init(_ passwords: any PasswordHashing) { self.passwords = passwords }

    /// Whether the password was found to be right before.
    func isKnown(_ password: String, _ hash: String) -> Bool {
        let code = code(of: password, hash)
        return right.withLock { $0.contains(code) }
    }

    /// Checks the same password of the same account once for all requests that bring it at the same time.
    func once(
        _ password: String, _ hash: String, _ check: () async throws -> CarmaAccount?
    ) async throws -> CarmaAccount? {
        try await running.value(for: code(of: password, hash), check)
    }

    /// - Parameter hash: nil for a user that does not exist, which takes as long.
    func matches(_ password: String, _ hash: String?, for caller: DerivationCaller) async throws -> Bool {
        if let hash, isKnown(password, hash) { return true }
        guard try await passwords.matches(password, hash, for: caller), let hash else { return false }
        let code = code(of: password, hash)
        right.withLock { right in
            if right.count >= Self.rememberedMax { right = [] }
            right.insert(code)
        }
        return true
    }

    private func code(of password: String, _ hash: String) -> [UInt8] {
        let text = Array("\(hash.utf8.count) \(hash) \(password)".utf8)
        return Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
    }
}

extension CarmaService.MessageRequest {
    /// Reads what a back end posts to a trigger. Source: carmaclient, dto/sendtrigger.go.
    init(_ bytes: [UInt8]) throws(InvalidInput) {
        var request = Self()
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "originalId": request.originalID = try reader.string(name)
            case "properties":
                for (key, value) in try reader.members(name) ?? [:] where !value.isNull {
                    request.properties[key] = value.flat
                }
            case "deliveryTime":
                guard let text = try reader.string(name), !text.isEmpty else { return }
                request.deliveryTime = try Instant(text.carmaTime, field: name)
            case "saveProps": request.savesProperties = try reader.bool(name) ?? false
            case _ where Self.fields.contains(name): try reader.skip()
            default:
                // A null says nothing.
                guard try reader.null() else {
                    throw InvalidInput.unknown(name, instead: Self.fields).withNothingSent
                }
            }
        }
        self = request
    }

    /// All that Carma's own client sends; only the first four mean something here. Source: carmaclient, dto/sendtrigger.go.
    private static let fields = [
        "originalId", "properties", "deliveryTime", "saveProps", "optOut", "customerId", "campaignId",
        "forceCreateMissingProperties",
    ]
}

extension String {
    /// A time of Carma's clients as RFC 3339 writes it: `2017-01-31T08:30:00+0100` with a colon in the zone, a day alone as its first moment.
    var carmaTime: String {
        let zone = suffix(5)
        if utf8.count == 10, !contains("T") { return self + "T00:00:00Z" }
        guard count > 10, zone.first == "+" || zone.first == "-", zone.dropFirst().allSatisfy(\.isNumber) else {
            return self
        }
        return dropLast(2) + ":" + suffix(2)
    }
}

extension CarmaMessage {
    /// A line of a contact's history. Source: compost-carma-api, models/Messages.php, which spells `recieved` so.
    func json(contactID: String, at now: Instant) -> JSONValue {
        .object([
            "id": .integer(key.rawValue), "contactId": .string(contactID), "deliveryId": .integer(trigger.rawValue),
            "read": .bool(readAt != nil), "readTimestamp": readAt.map { .integer($0.milliseconds) } ?? .null,
            "sentTimestamp": .integer(sentAt.milliseconds), "openInBrowserUrl": .null,
            "actions": .object([
                "opened": .bool(readAt != nil), "recieved": .bool(sentAt <= now), "clicked": .bool(false),
                "converted": .bool(false), "softBounce": .bool(false), "hardBounce": .bool(false),
                "unsubscribed": .bool(false), "complaint": .bool(false),
            ]),
            "type": .integer(3), "module": .string("trigger"), "name": .string(name), "archived": .bool(false),
        ])
    }
}

// Replies of the admin API about Carma's customers.

extension Admin {
    package struct CarmaAccountsReply: Codable, Sendable {
        package let accounts: [CarmaAccountReply]
    }

    package struct CarmaAccountReply: Codable, Sendable {
        package let account_id: Int64
        package let customer_id: Int64
        package let user: String
        package let created_at: String
        /// Shown once, in the reply to its creation or rotation.
        package var token: String?

        init(_ account: CarmaAccount, token: String? = nil) {
            account_id = account.key.rawValue
            customer_id = account.customerID
            user = account.user
            created_at = account.createdAt.text
            self.token = token
        }
    }

    package struct CarmaAppsReply: Codable, Sendable {
        package let apps: [CarmaAppReply]
    }

    package struct CarmaAppReply: Codable, Sendable {
        package let carma_app_id: Int64
        package let customer_id: Int64
        package let app_id: String
        package let app_uuid: String
        package let list_id: Int64

        init(_ app: CarmaApp, _ application: Application) {
            carma_app_id = app.key.rawValue
            customer_id = app.customerID
            app_id = app.appID
            app_uuid = application.uuid.lowercased
            list_id = app.listID
        }
    }

    package struct CarmaTriggersReply: Codable, Sendable {
        package let triggers: [CarmaTriggerReply]
    }

    package struct CarmaTriggerReply: Codable, Sendable {
        package let trigger_id: Int64
        package let customer_id: Int64
        package let app_id: String
        package let name: String

        init(_ trigger: CarmaTrigger, of app: CarmaApp) {
            trigger_id = trigger.key.rawValue
            customer_id = app.customerID
            app_id = app.appID
            name = trigger.template.name
        }
    }
}
