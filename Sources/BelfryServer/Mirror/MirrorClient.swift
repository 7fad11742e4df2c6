package import BelfryService
package import FoundationEssentials
import HTTP2Client
import NIOSSL
package import Outbound

/// The PCF push service that an installation takes over from, as devices speak to it.
package struct MirrorClient: MirrorServer {
    private let configuration: MirrorConfiguration
    /// nil trusts what the system trusts.
    private let tls: TLSConfiguration?
    private let outbound: Outbound

    /// No caller waits for it, so it may be long.
    private static let deadline = Duration.seconds(15)
    private static let replyBytesMax = 1 << 20

    package init(_ configuration: MirrorConfiguration, outbound: Outbound) {
        self.configuration = configuration
        self.outbound = outbound
        tls = configuration.trustRootFile.map { file in
            var tls = Outbound.standardTLS
            tls.trustRoots = .file(file)
            return tls
        }
    }

    package func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict {
        guard let secret = configuration.secrets[platform.uuid] else { return .refused(401) }
        guard let request = request(call, of: uuid, by: platform.uuid, secret) else { return .heard(nil) }
        guard case .response(let response) = await outbound.ask(request, deadline: Self.deadline) else {
            return .unheard
        }
        switch response.status {
        case 200..<300: return .heard(name(in: response.body))
        case 404 where call.method == .delete: return .heard(nil)
        case 408, 429, 500...: return .unheard
        case let status: return .refused(status)
        }
    }

    /// nil where there is nothing to tell: a device that it never heard of has ended.
    private func request(_ call: MirrorCall, of uuid: UUID?, by platform: UUID, _ secret: String) -> OutboundRequest? {
        let all = "\(configuration.url)/v1/registration"
        let credentials = Data("\(platform.lowercased):\(secret)".utf8).base64EncodedString()
        var headers = [HTTP2Header("authorization", "Basic \(credentials)")]
        if call.method != .delete { headers.append(HTTP2Header("content-type", "application/json")) }
        var request: OutboundRequest
        switch (call.method, uuid) {
        case (.delete, nil): return nil
        case (.post, _), (.put, nil):
            let body = call.method == .put ? call.asPost : call.body
            request = OutboundRequest("POST", all, headers: headers, body: body, tls: tls)
        case (.put, let uuid?):
            request = OutboundRequest("PUT", "\(all)/\(uuid.lowercased)", headers: headers, body: call.body, tls: tls)
        case (.delete, let uuid?):
            request = OutboundRequest("DELETE", "\(all)/\(uuid.lowercased)", headers: headers, tls: tls)
        }
        request.answerBytesMax = Self.replyBytesMax
        return request
    }

    private func name(in body: [UInt8]) -> UUID? {
        let reply = try? JSONValue(json: body)
        return reply?["device_uuid"]?.stringValue.flatMap { UUID(uuidString: $0) }
    }
}

extension MirrorCall {
    /// A change as a new registration: of tags that are added, the list.
    fileprivate var asPost: [UInt8] {
        guard case .object(var members)? = try? JSONValue(json: body) else { return body }
        if let subscribed = members["tags"]?["subscribe"] { members["tags"] = subscribed }
        var json: [UInt8] = []
        json.append(json: .object(members))
        return json
    }
}
