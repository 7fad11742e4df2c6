import BelfryGateway

/// Reads a sender's bytes at the binary gateway, whole and in pieces: the same records and the same fault, of bounded size, and
/// nothing held beyond one record.
func gatewayRecords(_ bytes: [UInt8]) {
    let whole = decodeGatewayRecords([bytes[...]])
    let pieces = stride(from: 0, to: bytes.count, by: 7).map { bytes[$0..<min($0 + 7, bytes.count)] }
    precondition(whole == decodeGatewayRecords(pieces))
    for record in whole.records {
        precondition(GatewayRecord.tokenBytesMin...GatewayRecord.tokenBytesMax ~= record.token.count)
        precondition(1...GatewayRecord.payloadBytesMax ~= record.payload.count)
        var again = GatewayDecoder()
        again.append(record.bytes)
        precondition((try? again.next()) == record)
    }
}

private struct DecodedGatewayRecords: Equatable {
    var records: [GatewayRecord] = []
    var fault: GatewayDecoder.Fault?
}

private func decodeGatewayRecords(_ pieces: [ArraySlice<UInt8>]) -> DecodedGatewayRecords {
    var decoder = GatewayDecoder()
    var decoded = DecodedGatewayRecords()
    for piece in pieces where decoded.fault == nil {
        decoder.append(piece)
        do {
            while let record = try decoder.next() { decoded.records.append(record) }
        } catch {
            decoded.fault = error
        }
        precondition(decoder.heldBytes <= GatewayDecoder.heldBytesMax)
    }
    return decoded
}
