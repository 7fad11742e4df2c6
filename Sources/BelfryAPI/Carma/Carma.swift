import BelfryService
import HTTPTypes
import Hummingbird

/// The push device API of Carma, later Symplify, and the part of its REST API by which back ends send.
///
/// Source: docs/compatibility/carma.md.
package enum Carma {
    package struct Options: Sendable {
        /// The address at which devices reach this server.
        package var address: ServerAddress

        package init(address: ServerAddress = ServerAddress()) { self.address = address }
    }

    static let bodyBytesMax = 65_536
    /// The limit on a list of contacts, in bytes.
    static let listBytesMax = 4 << 20
    /// And in lines: it is answered when its contacts are written, which has to be within a request's time.
    static let listLinesMax = 100_000

    /// An error in the form that Carma's clients decode. Source: carmaclient, carmaclient.go.
    static func response(_ error: APIError) -> Response {
        Response(
            status: error.status,
            json: ByteBuffer(bytes: JSONValue.object(["error": .string(error.message)]).encoded),
            headers: error.headers)
    }
}
