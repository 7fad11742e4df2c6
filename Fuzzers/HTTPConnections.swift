import BelfryService
import Configuration
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import BelfryServer

/// Whatever a client says on a connection, in pieces of any size and however it leaves, it is answered in HTTP or not at all,
/// no more often than it can have asked, and nothing works for it any more once the connection is closed.
///
/// The first byte says how large the pieces are, the second how the client leaves; what it says begins at the third. The end
/// of a path says what its handler does.
func httpConnections(_ bytes: [UInt8]) {
    guard bytes.count > 2 else { return }
    do {
        let channel = EmbeddedChannel()
        let connection = try listener.setup(channel: channel, logger: quiet).wait()
        channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1), promise: nil)
        let said = bytes[2...]
        speak(said, in: Int(bytes[0]) + 1, on: channel)
        leave(as: bytes[1], channel)
        let answers = String(decoding: try heard(on: channel), as: UTF8.self).components(separatedBy: "HTTP/1.1 ")
        precondition(answers.count <= 1 || answers[0].isEmpty, "something stands before the first answer")
        precondition(answers.count <= said.count { $0 == 0x0A } + 2, "there are \(answers.count - 1) answers")
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        let isOver = Mutex(false)
        connection.isOver.whenComplete { _ in isOver.withLock { $0 = true } }
        precondition(isOver.withLock { $0 }, "a handler works for a connection that is closed")
    } catch {
        preconditionFailure("\(error)")
    }
}

private let quiet = Logger(label: "fuzzer") { _ in SwiftLogNoOpLogHandler() }

private let listener: HTTPListener<CallbackResponder<APIContext>> = {
    let settings = Settings(ConfigReader(provider: InMemoryProvider(values: [:])), environment: [:])
    var heads = HeadConfiguration(settings)
    (heads.bytesMax, heads.countMax) = (1_024, 10)
    return HTTPListener(
        responder: CallbackResponder { request, _ in try await handle(request) },
        connectionLimiter: ConnectionLimiter(
            listener: "fuzzer", limits: .init(total: .max, perAddress: .max, isProxy: { _ in false }),
            shared: nil),
        certificate: nil, timeouts: TimeoutConfiguration(settings), heads: heads,
        buffered: BufferedBytes(listener: "fuzzer", outboundMax: 1 << 30))
}()

/// Answers hold nothing of what was asked, so that each can be told from the next.
private func handle(_ request: Request) async throws -> Response {
    switch request.uri.path.last {
    case "r":
        let body = try await request.body.collect(upTo: 64)
        return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "\(body.readableBytes)")))
    case "f":
        for try await _ in request.body { break }
        return Response(status: .ok)
    case "s":
        return Response(status: .ok, body: .init(asyncSequence: request.body.map { _ in ByteBuffer(string: "piece") }))
    case "t": throw ChannelError.eof
    default: return Response(status: .noContent)
    }
}

private func speak(_ bytes: ArraySlice<UInt8>, in pieces: Int, on channel: EmbeddedChannel) {
    var rest = bytes
    while !rest.isEmpty, channel.isActive {
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: rest.prefix(pieces)))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
        channel.pipeline.read()
        rest = rest.dropFirst(pieces)
    }
}

private func leave(as way: UInt8, _ channel: EmbeddedChannel) {
    switch way % 4 {
    case 1: channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    case 2: channel.embeddedEventLoop.advanceTime(by: .seconds(40))
    case 3: channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "reset"))
    default: break
    }
    channel.embeddedEventLoop.run()
}

private func heard(on channel: EmbeddedChannel) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += Array(buffer: buffer) }
    return bytes
}
