package import BelfryService
import HTTPTypes
package import Hummingbird
import NIOCore

extension Response {
    /// The verdicts on the rows of an import that are there by now, as a CSV that is written while they are read.
    package static func verdicts(of job: Key<ImportJob>, in store: any ImportJobStore) -> Response {
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: ImportService.Verdict.csvHead))
            var position = 0
            while case let some = try await store.importVerdicts(of: job, after: position, limit: stepsAtOnce),
                let last = some.last
            {
                for step in some { try await writer.write(ByteBuffer(bytes: step.lines)) }
                try Task.checkCancellation()
                position = last.position
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/csv; charset=utf-8"], body: body)
    }

    /// Read at a time. Each has some ten KiB.
    private static let stepsAtOnce = 8
}
