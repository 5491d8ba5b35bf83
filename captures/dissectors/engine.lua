-- The dissector itself: it walks the table above. Wrong bytes give tutti.error with the reason, and nothing half parsed.

local HEADER = 12
local proto = Proto("tutti", "tutti PDU")

local f = {
  magic = ProtoField.uint16("tutti.magic", "magic", base.HEX),
  version = ProtoField.uint8("tutti.version", "version", base.DEC, nil, 0xf0),
  proto = ProtoField.uint8("tutti.proto", "protocol", base.DEC, nil, 0x0f),
  number = ProtoField.uint8("tutti.number", "type number"),
  type = ProtoField.string("tutti.type", "type"),
  src = ProtoField.uint16("tutti.src", "src"),
  length = ProtoField.uint16("tutti.length", "length"),
  check = ProtoField.uint32("tutti.check", "check", base.HEX),
  error = ProtoField.string("tutti.error", "error"),
  bytes = ProtoField.bytes("tutti.bytes", "bytes"),
}

local function integer_field(id, label, width, signed, meaning)
  local make = (signed and "int" or "uint") .. (8 * width)
  return ProtoField[make](id, label, base.DEC, nil, nil, meaning)
end

-- One ProtoField per column. PDUs of a protocol that have a field of one name share it, in the widest of their types.
local declared = {}
local widths = {}
for _, row in pairs(ROWS) do
  for _, field in ipairs(row.fields) do
    if field.width and field.kind ~= "bytes" then
      widths[field.id] = math.max(widths[field.id] or 0, field.width)
    end
  end
end
for _, row in pairs(ROWS) do
  for _, field in ipairs(row.fields) do
    local id = "tutti." .. field.id
    if not declared[field.id] then
      if field.kind == "integer" or field.kind == "vector" then
        declared[field.id] = integer_field(id, field.name, widths[field.id], field.signed, field.meaning)
      elseif field.kind == "members" then
        declared[field.id] = ProtoField.uint32(id, field.name, base.DEC, nil, nil, field.meaning)
      elseif field.kind == "text" then
        declared[field.id] = ProtoField.string(id, field.name, base.UNICODE, field.meaning)
      elseif field.kind == "records" then
        declared[field.id] = ProtoField.none(id, field.name, field.meaning)
        for _, column in ipairs(field.columns) do
          local name = field.id .. "." .. column.name
          declared[name] = integer_field("tutti." .. name, column.name, column.width, column.signed)
        end
      else
        declared[field.id] = ProtoField.bytes(id, field.name, base.NONE, field.meaning)
      end
    end
  end
end

local all = {}
for _, field in pairs(f) do all[#all + 1] = field end
for _, field in pairs(declared) do all[#all + 1] = field end
proto.fields = all

local wrong = ProtoExpert.new("tutti.wrong", "corrupt PDU", expert.group.CHECKSUM, expert.severity.ERROR)
proto.experts = { wrong }

-- CRC-32, one byte at a time; `bit` comes with every Wireshark.
local CRC = {}
for byte = 0, 255 do
  local rest = byte
  for _ = 1, 8 do
    rest = bit.bxor(bit.rshift(rest, 1), bit.band(rest, 1) * 0xedb88320)
  end
  CRC[byte] = rest
end

-- The check of a PDU: of all its bytes but those of the check itself.
local function check_of(tvb, length)
  local bytes = tvb:raw(0, length)
  local rest = -1
  for place = 1, length do
    if place <= 8 or place > 12 then
      rest = bit.bxor(bit.rshift(rest, 8), CRC[bit.band(bit.bxor(rest, bytes:byte(place)), 255)])
    end
  end
  return bit.bnot(rest) % 2 ^ 32
end

-- Numbers that only serve as counts; 8 bytes and more are far beyond any PDU anyway.
local function small(tvb, place, field)
  if field.width == 8 then
    if tvb(place, 4):uint() > 0 then return 2 ^ 40 end
    return tvb(place + 4, 4):uint()
  end
  return field.signed and tvb(place, field.width):int() or tvb(place, field.width):uint()
end

local function count_of(count, known)
  if count.exactly then return count.exactly end
  if count.sum then return known[count.sum] end
  local product = 1
  for _, name in ipairs(count.of) do product = product * known[name] end
  return product
end

local function width_of(columns)
  local width = 0
  for _, column in ipairs(columns) do width = width + column.width end
  return width
end

local function beyond(tvb, place, size)
  local spare = size % 32
  return spare > 0 and tvb(place, 4):uint() >= 2 ^ spare
end

-- Where every field lies: a list of { field, place, size, count }, or nil and the reason.
local function lay_out(tvb, row, length)
  local known, places, place = {}, {}, HEADER
  for _, field in ipairs(row.fields) do
    local count, size = 1, field.width
    if field.kind == "vector" then
      count = count_of(field.count, known)
      size = count * field.width
    elseif field.kind == "records" then
      count = count_of(field.count, known)
      size = count * width_of(field.columns)
    elseif field.kind == "members" then
      count = known[field.size]
      size = 4 * math.ceil(count / 32)
    elseif field.kind == "payload" or field.kind == "text" then
      size = length - place
    end
    if count < 0 or size < 0 or place + size > length then return nil, row.name .. " is cut short" end
    if field.kind == "integer" then
      known[field.name] = small(tvb, place, field)
    elseif field.kind == "vector" then
      local sum = 0
      for i = 0, count - 1 do sum = sum + small(tvb, place + i * field.width, field) end
      known[field.name] = sum
    elseif field.kind == "members" and beyond(tvb, place, count) then
      return nil, row.name .. " has an entity beyond " .. count
    end
    places[#places + 1] = { field, place, size, count }
    place = place + size
  end
  if place < length then return nil, row.name .. " has " .. (length - place) .. " bytes too many" end
  return places
end

local function add_integer(tree, id, tvb, place, column, label)
  local declared_field = declared[id]
  local range = tvb(place, column.width)
  local item
  if column.width == widths[id] or not widths[id] then
    item = tree:add(declared_field, range)
  elseif widths[id] == 8 then
    item = tree:add(declared_field, range, column.signed and Int64(range:int()) or UInt64(range:uint()))
  else
    item = tree:add(declared_field, range, column.signed and range:int() or range:uint())
  end
  if label then item:prepend_text(label) end
  return item
end

local function set_flags(names, number)
  local set = {}
  for bit, name in ipairs(names) do
    if math.floor(number / 2 ^ (bit - 1)) % 2 == 1 then set[#set + 1] = name end
  end
  return table.concat(set, "+")
end

local function show(tree, tvb, field, place, size, count)
  if field.kind == "integer" then
    local item = add_integer(tree, field.id, tvb, place, field)
    if field.flags then item:append_text(" " .. set_flags(field.flags, tvb(place, field.width):uint())) end
  elseif field.kind == "vector" then
    for i = 0, count - 1 do
      add_integer(tree, field.id, tvb, place + i * field.width, field, "[" .. (i + 1) .. "] ")
    end
  elseif field.kind == "members" then
    for member = 1, count do
      local word = math.ceil(count / 32) - 1 - math.floor((member - 1) / 32)
      local bits = tvb(place + 4 * word, 4):uint()
      if math.floor(bits / 2 ^ ((member - 1) % 32)) % 2 == 1 then
        tree:add(declared[field.id], tvb(place + 4 * word, 4), member)
      end
    end
  elseif field.kind == "records" then
    local width = width_of(field.columns)
    for i = 0, count - 1 do
      local record = tree:add(declared[field.id], tvb(place + i * width, width))
      local at = place + i * width
      for _, column in ipairs(field.columns) do
        add_integer(record, field.id .. "." .. column.name, tvb, at, column)
        at = at + column.width
      end
    end
  elseif size == 0 then
    tree:add(declared[field.id], tvb(place - 1, 0), "")
  elseif field.kind == "text" then
    tree:add_packet_field(declared[field.id], tvb(place, size), ENC_UTF_8)
  else
    tree:add(declared[field.id], tvb(place, size))
  end
end

local function corrupt(tvb, pinfo, tree, reason)
  local subtree = tree:add(proto, tvb(), "corrupt PDU: " .. reason)
  subtree:add(f.error, reason)
  if tvb:len() > 0 then subtree:add(f.bytes, tvb()) end
  subtree:add_proto_expert_info(wrong, reason)
  pinfo.cols.info:set("corrupt PDU: " .. reason)
  return tvb:len()
end

local function why_wrong(tvb)
  local available = tvb:len()
  if available < HEADER then return available .. " bytes are shorter than the header" end
  if tvb(0, 2):uint() ~= MAGIC then return "magic is not ours" end
  if math.floor(tvb(2, 1):uint() / 16) ~= VERSION then return "another version" end
  local length = tvb(6, 2):uint()
  if length < HEADER or length > available then return "length " .. length .. " of " .. available .. " bytes" end
  if check_of(tvb, length) ~= tvb(8, 4):uint() then return "check failed" end
  return nil
end

function proto.dissector(tvb, pinfo, tree)
  if pinfo.port_type == 3 and pinfo.dst_port ~= UDP_PORT then return 0 end  -- 3 is UDP
  pinfo.cols.protocol:set("tutti")
  local reason = why_wrong(tvb)
  if reason then return corrupt(tvb, pinfo, tree, reason) end
  local length = tvb(6, 2):uint()
  local number = tvb(2, 1):uint() % 16 * 256 + tvb(3, 1):uint()
  local row = ROWS[number]
  if not row then return corrupt(tvb, pinfo, tree, "no PDU has number " .. number) end
  local places, misfit = lay_out(tvb, row, length)
  if not places then return corrupt(tvb, pinfo, tree, misfit) end

  local src = tvb(4, 2):uint()
  local subtree = tree:add(proto, tvb(0, length), row.name .. " from " .. src .. " (paper " .. row.section .. ")")
  subtree:add(f.magic, tvb(0, 2))
  subtree:add(f.version, tvb(2, 1))
  subtree:add(f.proto, tvb(2, 1))
  subtree:add(f.number, tvb(3, 1))
  subtree:add(f.type, tvb(2, 2), row.name)
  subtree:add(f.src, tvb(4, 2))
  subtree:add(f.length, tvb(6, 2))
  subtree:add(f.check, tvb(8, 4))
  for _, place in ipairs(places) do show(subtree, tvb, table.unpack(place)) end
  pinfo.cols.info:set(row.name .. " from " .. src)
  return length
end

DissectorTable.get("ethertype"):add(ETHERTYPE, proto)
DissectorTable.get("udp.port"):add(UDP_PORT, proto)
