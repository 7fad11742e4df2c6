import BelfryKit
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A server that answers as it was told, and keeps what it was asked.
final class ScriptedServer: Transport {
    struct Answer: Sendable {
        var status = 200
        var body = "{}"
        var fields: [String: String] = [:]
    }

    struct Asked: Sendable {
        let method: String
        let host: String
        let path: String
        let query: String
        let authorization: String
        let body: String

        /// A member of the body.
        func member(_ name: String) -> Any? {
            let object = try? JSONSerialization.jsonObject(with: Data(body.utf8))
            return (object as? [String: Any])?[name]
        }
    }

    private let held = Mutex<(asked: [Asked], answers: [Answer])>(([], []))
    /// The answer when the script has ended; nil for no answer at all.
    private let otherwise: Answer?

    init(_ answers: [Answer] = [], otherwise: Answer? = Answer(body: #"{"device_uuid":"d-1"}"#)) {
        self.otherwise = otherwise
        held.withLock { $0.answers = answers }
    }

    var asked: [Asked] { held.withLock { $0.asked } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        guard let url = request.url else { throw URLError(.badURL) }
        let asked = Asked(
            method: request.httpMethod ?? "GET", host: url.host ?? "", path: url.path, query: url.query ?? "",
            authorization: request.value(forHTTPHeaderField: "Authorization") ?? "",
            body: String(decoding: request.httpBody ?? Data(), as: UTF8.self))
        let answer = held.withLock { held in
            held.asked.append(asked)
            return held.answers.isEmpty ? otherwise : held.answers.removeFirst()
        }
        guard let answer,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: answer.fields)
        else { throw URLError(.notConnectedToInternet) }
        return (Data(answer.body.utf8), response)
    }
}

/// A phone with a folder of its own, at a scripted server.
struct ScriptedPhone {
    let server: ScriptedServer
    let folder: URL
    var identity: UUID
    var now: Int64 = 1_700_000_000_000
    var address = "http://push.example/"
    var platform = UUID()

    /// - Parameters:
    ///   - folder: of the app's last start; a new one where none is given.
    init(_ server: ScriptedServer = ScriptedServer(), folder: URL? = nil, identity: UUID = UUID()) {
        self.server = server
        self.folder =
            folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("phone-\(UUID().uuidString)")
        self.identity = identity
    }

    /// The app as it starts: it reads what is on the disk.
    func start(
        legacy: PCFInstallation? = nil, signer: BelfryConfiguration.UserSigner? = nil
    ) throws -> Belfry {
        let now = now
        return try Belfry(
            configuration(signer: signer), identity: FixedIdentity(own: identity), transport: server, legacy: legacy,
            clock: { now })
    }

    func configuration(signer: BelfryConfiguration.UserSigner? = nil) throws -> BelfryConfiguration {
        guard let url = URL(string: address) else { throw URLError(.badURL) }
        return BelfryConfiguration(
            server: url, platform: platform, platformSecret: "secret", folder: folder, signer: signer)
    }

    func wish(_ token: String = "aa", topics: Set<String> = ["news"], user: String? = nil) -> Registration {
        Registration(token: token, topics: topics, user: user, language: "de-CH", timeZone: "Europe/Zurich")
    }

    func wipe() { try? FileManager.default.removeItem(at: folder) }
}
