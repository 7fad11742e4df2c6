import ArgumentParser
import BelfryService
import Foundation
import KeyFiles
import NIOHTTP1
import Outbound

/// Reads a PCF push service by its documented calls, and changes nothing there.
struct PCFServer: Sendable {
    private let base: String
    private let http: CommandHTTP
    let pace = Pace()

    /// Six tries take half a minute.
    private static let triesMax = 6
    /// How long a server that is asked too much is waited for: at a time, and by one question in all.
    private static let (waits, waitMax) = (Duration.milliseconds(200)...Duration.seconds(60), Duration.seconds(1_800))

    /// How many questions the server is asked at a time: half as many from each answer that those are too many.
    actor Pace {
        private(set) var atOnce = 32

        func slow(from asked: Int) { if asked == atOnce { atOnce = max(1, asked / 2) } }
    }

    /// The caller: an application by its API key, or a platform by its secret.
    struct Caller: Sendable {
        let uuid: UUID
        let secret: String

        fileprivate var authorization: String {
            "Basic " + Data("\(uuid.lowercased):\(secret)".utf8).base64EncodedString()
        }
    }

    /// - Parameter trustRoot: a file with the certificates to trust instead of the system's.
    init(_ url: String, trustRoot: String?) throws {
        guard let parsed = URL(string: url), ["http", "https"].contains(parsed.scheme?.lowercased()),
            parsed.host() != nil
        else {
            throw ValidationError("--from is `\(url.quotable)`, it has to be https://host")
        }
        let roots = try trustRoot.map { trustRoot in
            let pem = try InputFile.contents(of: trustRoot, for: "--trust-root")
            guard let roots = try? PEMFile.certificates(in: Array(pem)) else {
                throw ValidationError("--trust-root: \(trustRoot) holds no certificates in PEM")
            }
            return roots
        }
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        // An old server may be slow: its SDKs wait for a minute.
        http = CommandHTTP(trusting: roots, connectDeadline: .seconds(10), deadline: .seconds(60))
    }

    func shutdown() async { await http.shutdown() }

    /// The answer to a GET; nil for a 404. Faults that may pass by themselves are retried.
    func get(_ path: String, as caller: Caller) async throws -> Data? {
        var (number, pause, waited) = (0, Duration.milliseconds(500), Duration.zero)
        while true {
            let atOnce = await pace.atOnce
            let fault: String
            switch try await ask(path, as: caller) {
            case .answer(let data): return data
            case .absent: return nil
            case .refused(let why): throw PCFFault("\(base.quotable)\(path) \(why)")
            case .throttled(let wait) where waited < Self.waitMax:
                await pace.slow(from: atOnce)
                try await Task.sleep(for: wait)
                waited += wait
                continue
            case .throttled: throw PCFFault("\(base.quotable)\(path) has answered 429 for half an hour")
            case .failed(let why): fault = why
            }
            number += 1
            guard number < Self.triesMax else {
                throw PCFFault("\(base.quotable)\(path) cannot be read after \(number) tries: \(fault)")
            }
            try await Task.sleep(for: pause)
            pause *= 2
        }
    }

    /// The answer to a GET as JSON. Throws for a 404.
    func json(_ path: String, as caller: Caller) async throws -> JSONValue {
        guard let data = try await get(path, as: caller) else { throw PCFFault("\(base.quotable)\(path) answered 404") }
        return try JSONValue(json: data, field: path)
    }

    private enum Answer {
        case answer(Data)
        case absent
        /// Asking again is of no use.
        case refused(String)
        case failed(String)
        /// It is asked too much, and names how long to wait.
        case throttled(Duration)
    }

    private func ask(_ path: String, as caller: Caller) async throws -> Answer {
        let headers = ["authorization": caller.authorization, "accept": "application/json"]
        let response: OutboundResponse
        do {
            response = try await http.ask("GET", base + path, headers)
        } catch {
            try Task.checkCancellation()
            return answer(for: error)
        }
        switch response.status {
        case 200..<300: return .answer(Data(response.body))
        case 404: return .absent
        case 401, 403:
            return .refused("answered \(response.status): check --app-uuid and --api-key-file, or --platform-secrets")
        case 300..<400:
            return .refused("answered \(response.status): give the address that it leads to as --from")
        case 429:
            let asked = response.headers.retryAfter() ?? .seconds(1)
            return .throttled(min(max(asked, Self.waits.lowerBound), Self.waits.upperBound))
        case let status:
            let words = "\(status) \(HTTPResponseStatus(statusCode: status).reasonPhrase)"
            return status >= 500 ? .failed(words) : .refused("answered \(words)")
        }
    }

    private func answer(for fault: OutboundFault) -> Answer {
        switch fault.code {
        case .tls:
            .refused(
                "is not trusted by this command; give the CA that signed its certificate as --trust-root "
                    + "(\(fault.tlsWords))")
        case .unresolved: .failed("\(URL(string: base)?.host() ?? base) has no address")
        case .connect: .failed("no connection")
        default: .failed("\(fault)")
        }
    }
}

extension PCFServer {
    /// The items of one page of an application's list, each as JSON; none behind the last page.
    func registrations(of platform: UUID, page: Int, size: Int, as caller: Caller) async throws -> [[UInt8]] {
        let path = "/v2/registrations/?size=\(size)&page=\(page)&platformUuid=\(platform.lowercased)"
        guard let data = try await get(path, as: caller) else { return [] }
        guard case .array(let registrations)? = try JSONValue(json: data, field: path)["registrations"] else {
            throw PCFFault("\(path) has no list of registrations")
        }
        return registrations.map { registration in
            var json: [UInt8] = []
            json.append(json: registration)
            return json
        }
    }
}

/// Why an old server could not be read.
struct PCFFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
