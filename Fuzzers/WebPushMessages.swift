import FoundationEssentials
import HTTPTypes

@testable import BelfryService

/// Whatever an application server posts to an endpoint is stored as it was sent, or refused with the header that is wrong.
///
/// Lines of headers come first, then an empty line, then the body.
func webPushMessages(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    let head = lines.prefix { !$0.isEmpty }
    var headers: HTTPFields = [:]
    for line in head {
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, let name = HTTPField.Name(String(decoding: parts[0], as: UTF8.self)) else { continue }
        headers.append(HTTPField(name: name, value: String(decoding: parts[1], as: UTF8.self)))
    }
    let body = Array(lines.dropFirst(head.count + 1).joined(separator: [0x0A]))
    if let credentials = VAPIDCredentials(headers) {
        precondition(credentials.key.count == 65 && credentials.token.utf8.count <= VAPIDCredentials.tokenBytesMax)
        _ = try? IDToken(credentials.token)
    }
    do throws(InvalidInput) {
        let message = try EndpointMessage(headers, body: body)
        precondition((0...EndpointMessage.timeToLiveMax).contains(message.timeToLive))
        for kind in [PlatformKind.ios, .androidFCM, .web, .windows8] {
            let content = try message.content(for: kind, at: .fuzzed)
            let stored = try Push.Content(stored: Array(content.storedText.utf8))
            precondition(stored == content)
        }
    } catch {
        precondition(!error.field.isEmpty && !error.problem.isEmpty)
    }
}

extension WebPushEndpoint {
    fileprivate static let fuzzed = WebPushEndpoint(
        key: Key(1), applicationKey: Key(1), platformKey: Key(1), deviceKey: Key(1), device: UUID(), vapidKey: nil,
        isFetched: false, isAlive: true, createdAt: .zero)
}
