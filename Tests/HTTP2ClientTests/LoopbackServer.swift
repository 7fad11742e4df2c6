import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A scripted server on a loopback port with TLS, for what an embedded channel cannot show.
final class LoopbackServer: Sendable {
    /// The action of a connection after each read; the number counts connections from 1.
    typealias Script = @Sendable (ScriptedServer, _ connection: Int) -> Void

    let port: Int
    private let channel: any Channel
    private static let group = MultiThreadedEventLoopGroup.singleton

    init(
        identity: TestIdentity, streams: UInt32? = 100, demandsCertificate: Bool = false, script: @escaping Script
    ) async throws {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(identity.certificate)], privateKey: .privateKey(identity.key))
        tls.applicationProtocols = ["h2"]
        if demandsCertificate {
            tls.certificateVerification = .noHostnameVerification
            tls.trustRoots = .certificates([identity.certificate])
        }
        let context = try NIOSSLContext(configuration: tls)
        let number = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: Self.group.next())
        channel = try await ServerBootstrap(group: number.eventLoop)
            .childChannelOption(.autoRead, value: true)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    number.value += 1
                    let session = ScriptedServer(streams: streams)
                    try child.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context),
                        ScriptedHandler(session, connection: number.value, script),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// A server that speaks no TLS: it says `greeting` to clients that connect and no more.
    init(greeting: String) async throws {
        channel = try await ServerBootstrap(group: Self.group)
            .childChannelInitializer { child in
                guard !greeting.isEmpty else { return child.eventLoop.makeSucceededVoidFuture() }
                return child.writeAndFlush(ByteBuffer(string: greeting))
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func stop() async throws { try await channel.close() }
}

private final class ScriptedHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session: ScriptedServer
    private let connection: Int
    private let script: LoopbackServer.Script

    init(_ session: ScriptedServer, connection: Int, _ script: @escaping LoopbackServer.Script) {
        self.session = session
        self.connection = connection
        self.script = script
    }

    func channelActive(context: ChannelHandlerContext) { write(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        session.receive(unwrapInboundIn(data))
        script(session, connection)
        write(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ context: ChannelHandlerContext) {
        let bytes = session.bytesToSend()
        if bytes.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
    }
}

/// A self-signed certificate for `localhost`, made by openssl.
struct TestIdentity {
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/usr/bin/env")
        openssl.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", folder.appending(path: "key.pem").path, "-out", folder.appending(path: "cert.pem").path,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        certificate = try NIOSSLCertificate(
            bytes: Array(Data(contentsOf: folder.appending(path: "cert.pem"))), format: .pem)
        key = try NIOSSLPrivateKey(bytes: Array(Data(contentsOf: folder.appending(path: "key.pem"))), format: .pem)
    }
}
