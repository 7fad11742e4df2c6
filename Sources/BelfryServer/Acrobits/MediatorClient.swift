import AsyncHTTPClient
import BelfryCore
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// Posts messages to another mediator as the senders post them here.
struct MediatorClient: MediatorRelay {
    let url: String

    /// A call is worth nothing later.
    private static let deadline = TimeAmount.seconds(10)
    private static let replyBytesMax = 16_384

    func relay(_ body: [UInt8], isForm: Bool) async throws -> RelayedAnswer {
        var request = HTTPClientRequest(url: isForm ? "\(url)/pnm2" : "\(url)/pnm2/send")
        request.method = .POST
        request.headers = ["Content-Type": isForm ? "application/x-www-form-urlencoded" : "application/json"]
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: Self.deadline)
            let reply = try await response.body.collect(upTo: Self.replyBytesMax)
            return Self.answer(Int(response.status.code), try? JSONValue(json: reply.readableBytesView))
        } catch let error as CancellationError {
            throw error
        } catch {
            return .unreachable
        }
    }

    private static func answer(_ status: Int, _ body: JSONValue?) -> RelayedAnswer {
        let code: Int = if case .integer(let code)? = body?["code"] { Int(clamping: code) } else { status }
        return .answered(status: status, code: code, words: body?["response"]?.stringValue ?? "")
    }
}
