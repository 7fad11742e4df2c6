import ArgumentParser
import Foundation
import Hummingbird
import Logging

/// A Hummingbird server with a route that decodes the body of a registration and answers, and one that does so with a push.
struct DecoderRole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "decoder", shouldDisplay: false)

    @Option var port: Int

    private struct Body: Decodable {
        let registration_token: String
        let os: String
        let os_version: String
        let device_model: String
        let device_manufacturer: String
        let device_alias: String
        let tags: [String]
    }

    private struct Push: Decodable {
        struct Message: Decodable { let body: String }
        struct Target: Decodable { let devices: [String] }

        let message: Message
        let target: Target
    }

    func run() async throws {
        let router = Router()
        router.post("decode-push") { request, _ -> Response in
            let bytes = try await request.body.collect(upTo: 1 << 20)
            let push = try JSONDecoder().decode(Push.self, from: Data(bytes.readableBytesView))
            let answer = ByteBuffer(string: #"{"devices":\#(push.target.devices.count)}"#)
            return Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: answer))
        }
        router.post("decode") { request, _ -> Response in
            let bytes = try await request.body.collect(upTo: 1 << 20)
            let body = try JSONDecoder().decode(Body.self, from: Data(bytes.readableBytesView))
            let answer = ByteBuffer(string: #"{"tags":\#(body.tags.count)}"#)
            return Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: answer))
        }
        var logger = Logger(label: "decoder")
        logger.logLevel = .error
        let application = Hummingbird.Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { _ in
                print("ready")
                fflush(nil)
            }, logger: logger)
        try await application.runService()
    }
}
