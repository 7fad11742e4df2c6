import ArgumentParser
import AsyncHTTPClient
import BelfryService
import Foundation
import KeyFiles
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Outbound

/// Reads a PCF push service by its documented calls, and changes nothing there.
struct PCFServer: Sendable {
    private let base: String
    private let http: HTTPClient

    /// An old server may be slow: its SDKs wait for a minute.
    private static let deadline = TimeAmount.seconds(60)
    private static let replyBytesMax = 16 << 20
    /// Six tries take half a minute.
    private static let triesMax = 6

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
        guard let parsed = URL(string: url), ["http", "https"].contains(parsed.scheme), parsed.host() != nil else {
            throw ValidationError("--from is `\(url.quotable)`, it has to be https://host")
        }
        let roots = try trustRoot.map { trustRoot in
            let pem = FileManager.default.contents(atPath: trustRoot) ?? Data()
            guard let roots = try? PEMFile.certificates(in: Array(pem)) else {
                throw ValidationError("--trust-root: \(trustRoot) holds no certificates in PEM")
            }
            return roots
        }
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.retryConnectionEstablishment = false
        if let roots {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(roots)
            configuration.tlsConfiguration = tls
        }
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutdown() async throws { try await http.shutdown() }

    /// The answer to a GET; nil for a 404. Faults that may pass by themselves are retried.
    func get(_ path: String, as caller: Caller) async throws -> Data? {
        var pause = Duration.milliseconds(500)
        for number in 1... {
            let fault: String
            switch try await ask(path, as: caller) {
            case .answer(let data): return data
            case .absent: return nil
            case .refused(let why): throw PCFFault("\(base.quotable)\(path) \(why)")
            case .failed(let why): fault = why
            }
            guard number < Self.triesMax else {
                throw PCFFault("\(base.quotable)\(path) cannot be read after \(number) tries: \(fault)")
            }
            try await Task.sleep(for: pause)
            pause *= 2
        }
        return nil
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
    }

    private func ask(_ path: String, as caller: Caller) async throws -> Answer {
        var request = HTTPClientRequest(url: base + path)
        request.headers = ["Authorization": caller.authorization, "Accept": "application/json"]
        do {
            let response = try await http.execute(request, timeout: Self.deadline)
            let body = try await response.body.collect(upTo: Self.replyBytesMax)
            switch response.status.code {
            case 200..<300: return .answer(Data(body.readableBytesView))
            case 404: return .absent
            case 429, 500...: return .failed("\(response.status.code) \(response.status.reasonPhrase)")
            case 401, 403:
                return .refused(
                    "answered \(response.status.code): check --app-uuid and --api-key-file, or --platform-secrets")
            default: return .refused("answered \(response.status.code) \(response.status.reasonPhrase)")
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            return Self.answer(for: error)
        }
    }

    private static func answer(for error: any Error) -> Answer {
        switch error {
        case is NIOSSLError, is NIOSSLExtraError:
            .refused(
                "is not trusted by this command; give the CA that signed its certificate as --trust-root "
                    + "(\(Outbound.tlsWords("\(error)")))")
        case let error as HTTPClientError where error == .connectTimeout: .failed("no connection in time")
        case let error as HTTPClientError where error == .deadlineExceeded: .failed("no answer in time")
        case let error as NIOConnectionError:
            .failed(error.connectionErrors.isEmpty ? "\(error.host) has no address" : "no connection")
        default: .failed("\(error)")
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
