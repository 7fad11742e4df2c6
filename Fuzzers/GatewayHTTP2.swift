import Logging
import NIOCore
import NIOEmbedded
import NIOTLS

@testable import BelfryGateway

/// Feeds the HTTP/2 bytes of a known sender in pieces of any size: the bytes held are bounded and free when the connection is over,
/// and no request is passed on twice.
///
/// The first byte says how large the pieces are; frames begin at the second, behind a preface.
func gatewayHTTP2(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    do {
        let held = HeldBytes(limit: 1 << 20)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(GatewayHTTP2Handler(GatewayOptions(), held: held.share(of: nil)))
        channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1), promise: nil)
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
        channel.triggerUserOutboundEvent(GatewayCommand.admit, promise: nil)
        var rest = (gatewayPreface + bytes.dropFirst())[...]
        var streams: Set<Int32> = []
        while !rest.isEmpty, channel.isActive {
            channel.pipeline.fireChannelRead(ByteBuffer(bytes: rest.prefix(Int(first) + 1)))
            channel.pipeline.fireChannelReadComplete()
            channel.embeddedEventLoop.run()
            rest = rest.dropFirst(Int(first) + 1)
            precondition(held.total <= 1 << 20 + 64 << 10, "\(held.total) bytes are held")
            while let event = try channel.readInbound(as: GatewayInbound.self) {
                guard case .requests(let requests) = event else { continue }
                for request in requests {
                    precondition(streams.insert(request.stream).inserted, "a stream has two requests")
                    precondition(request.body.count <= GatewayRequest.bodyBytesMax)
                    // Every second one is answered.
                    guard streams.count.isMultiple(of: 2) else { continue }
                    let command = GatewayCommand.respond(.accepted, id: "x", stream: request.stream)
                    channel.triggerUserOutboundEvent(command, promise: nil)
                }
            }
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        precondition(held.total == 0, "\(held.total) bytes are held for a connection that is over")
    } catch {
        preconditionFailure("\(error)")
    }
}

private let gatewayPreface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
