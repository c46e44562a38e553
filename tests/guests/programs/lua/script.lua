-- A bit of everything that a script asks of its C library. Arguments: the folder to read, the folder to write.
local app0, data = arg[1], arg[2]
package.path = app0 .. "/?.lua"
print(_VERSION, require("module").answer, select("#", table.unpack(arg)), arg[3], arg[4])

-- Numbers, to text and back.
for _, x in ipairs { 0, -0.0, 1, 1.5, 1e15, 1e16, 1e100, 123456.789, 2 ^ 53, 1 / 3, -1 / 0, math.pi, 0x7fffffffffffffff } do
    print(x, string.format("%g %10.3f|%-12.4e|%a %d", x, x, x, x, math.tointeger(x) or 0))
end
print(string.format("%5s|%-5s|%05d|%+d|%x|%X|%o|%c|%q|%i|%.3s", "ab", "ab", 42, 42, 255, 255, 8, 65, "a\nb\0c", 7, "abcdef"))
print(tonumber("0x1p4"), tonumber("1e1"), tonumber(" 10 "), tonumber("10", 2), tonumber("zz", 36), tonumber("x"))
for _, f in ipairs { "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "floor", "ceil", "abs" } do
    print(f, string.format("%.17g", math[f](0.7)))
end
print(math.fmod(-7, 3), -7 % 3, 7 // 2, math.ult(1, -1), 3 | 4, 5 ~ 1, ~0, 1 << 62, 10 // 0.0, math.maxinteger + 1)

-- Strings.
print(("hello world"):upper():rep(2, "-"), ("abc"):byte(1, -1))
print(("key = value; other=thing"):gsub("(%w+)%s*=%s*(%w+)", "%2:%1"))
for word in ("the quick brown fox"):gmatch("%a+") do io.write(word, ".") end
io.write("\n")
print(utf8.char(72, 228, 8364, 128512), utf8.len("Hä€😀"), #string.pack("<i4s2d", 7, "xyz", 1.5))
print(table.concat({ 1, 2.5, "three" }, ", "), ("%d"):format(3), #("x"):rep(100000))

-- Tables, sorting, closures, coroutines, errors, metatables.
local list = {}
for i = 1, 2000 do list[i] = (i * 7919) % 2003 end
table.sort(list)
print(list[1], list[1000], list[2000])
table.sort(list, function(a, b) return a > b end)
print(list[1], list[1000], list[2000])
local fibonacci = coroutine.wrap(function()
    local a, b = 0, 1
    while true do coroutine.yield(a) a, b = b, a + b end
end)
for _ = 1, 20 do io.write(fibonacci(), " ") end
print()
print(pcall(error, { code = 5 }) == false, select(2, pcall(error, "text", 0)), (select(2, pcall(function() return nil + 1 end))))
print(setmetatable({}, { __tostring = function() return "object" end }), rawlen({ 1, 2 }))
local deep
deep = function(n) return n == 0 and 0 or 1 + deep(n - 1) end
print(deep(10000), select(2, pcall(function() local function f() return 1 + f() end return f() end)):match("stack overflow") ~= nil)

-- Memory.
local keep = {}
for i = 1, 200000 do keep[i % 1000 + 1] = { i, tostring(i), { i } } end
collectgarbage()
print(#keep, collectgarbage("count") < 20000)

-- Files.
local name = data .. "/lines.txt"
local file = assert(io.open(name, "w"))
for i = 1, 1000 do file:write("line ", i, " ", i / 4, "\n") end
file:close()
local count, bytes = 0, 0
for line in io.lines(name) do count, bytes = count + 1, bytes + #line end
print(count, bytes)
file = io.open(name, "r+")
print(file:seek("end"), file:seek("set", 5), file:read(3), file:read("n"), file:read("l"), file:read("L"), file:read(0))
file:seek("set", 0)
file:write("LINE")
file:seek("set", 0)
print(file:read("l"), file:seek("cur"), #file:read("a"), file:read("a"), file:read("l"))
file:close()
file = io.open(name, "a")
file:setvbuf("full", 512)
file:write("the last line\n")
print(file:seek("cur") > 1000, io.type(file), file:close(), io.type(file))
print(io.open(data .. "/none/none"))
print(io.open(app0 .. "/none.txt"))
print(pcall(io.lines, data .. "/none"))
local temporary = io.tmpfile()
temporary:write("12 0x1F 1e2 word")
temporary:seek("set")
print(temporary:read("n", "n", "n", "l"))
print(os.rename(name, data .. "/renamed"), os.rename(data .. "/renamed", name))
print(os.remove(data .. "/nothing"))
io.output(data .. "/default.txt")
io.write("by default")
io.close()
io.output(io.stdout)
for line in io.lines(data .. "/default.txt") do print(line) end
print(os.remove(data .. "/default.txt"))

-- Time, in UTC.
print(os.date("!%Y-%m-%d %H:%M:%S %a %b %j", 86400 * 365.25 // 1 | 0), os.time { year = 2020, month = 2, day = 29, hour = 12 })
print(os.date("!*t", 1e9 | 0).yday, os.difftime(10, 5), os.clock() >= 0, os.getenv("NO_SUCH_VARIABLE"), os.setlocale())
print(load("return 6 * 7")(), load("syntax error here"))
local dumped = string.dump(function(a) return a * 2 end)
print(load(dumped, "dumped", "b")(21))
io.stderr:write("to standard error\n")
print("the end")
