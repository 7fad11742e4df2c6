import AsyncHTTPClient
package import BelfryCore
package import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL

/// The PCF push service that an installation takes over from, as devices speak to it.
package struct OldServer: MirrorServer {
    private let configuration: MirrorConfiguration
    /// nil trusts what the system trusts.
    private let tls: TLSConfiguration?

    /// No caller waits for it, so it may be long.
    private static let deadline = TimeAmount.seconds(15)
    private static let replyBytesMax = 1 << 20

    package init(_ configuration: MirrorConfiguration) {
        self.configuration = configuration
        tls = configuration.trustRootFile.map { file in
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(file)
            return tls
        }
    }

    package func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict {
        guard let secret = configuration.secrets[platform.uuid] else { return .refused(401) }
        guard let request = request(call, of: uuid, by: platform.uuid, secret) else { return .heard(nil) }
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: Self.deadline)
            let body = try await response.body.collect(upTo: Self.replyBytesMax)
            switch Int(response.status.code) {
            case 200..<300: return .heard(name(in: body))
            case 404 where call.method == .delete: return .heard(nil)
            case 408, 429, 500...: return .unheard
            case let status: return .refused(status)
            }
        } catch {
            return .unheard
        }
    }

    /// nil where there is nothing to tell: a device that it never heard of has ended.
    private func request(_ call: MirrorCall, of uuid: UUID?, by platform: UUID, _ secret: String) -> HTTPClientRequest?
    {
        var request: HTTPClientRequest
        switch (call.method, uuid) {
        case (.delete, nil): return nil
        case (.post, _), (.put, nil):
            request = HTTPClientRequest(url: "\(configuration.url)/v1/registration")
            request.method = .POST
            request.body = .bytes(ByteBuffer(bytes: call.method == .put ? call.asPost : call.body))
        case (.put, let uuid?):
            request = HTTPClientRequest(url: "\(configuration.url)/v1/registration/\(uuid.lowercased)")
            request.method = .PUT
            request.body = .bytes(ByteBuffer(bytes: call.body))
        case (.delete, let uuid?):
            request = HTTPClientRequest(url: "\(configuration.url)/v1/registration/\(uuid.lowercased)")
            request.method = .DELETE
        }
        request.tlsConfiguration = tls
        let credentials = Data("\(platform.lowercased):\(secret)".utf8).base64EncodedString()
        request.headers = ["Authorization": "Basic \(credentials)"]
        if call.method != .delete { request.headers.add(name: "Content-Type", value: "application/json") }
        return request
    }

    private func name(in body: ByteBuffer) -> UUID? {
        let reply = try? JSONValue(json: body.readableBytesView)
        return reply?["device_uuid"]?.stringValue.flatMap { UUID(uuidString: $0) }
    }
}

extension MirrorCall {
    /// A change as a new registration: of tags that are added, the list.
    fileprivate var asPost: [UInt8] {
        guard case .object(var members)? = try? JSONValue(json: body) else { return body }
        if let subscribed = members["tags"]?["subscribe"] { members["tags"] = subscribed }
        var json: [UInt8] = []
        json.append(json: .object(members), numbers: .short)
        return json
    }
}
