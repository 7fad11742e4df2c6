// HTTP2Client
